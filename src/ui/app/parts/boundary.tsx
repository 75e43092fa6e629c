/** Keeps a fault in one part of a page from taking the rest with it. */
import { Component, type ComponentChildren } from "preact";
import { TEXTS } from "../texts.ts";

interface Props {
  /** What to show it again for: another value tries again. */
  about: string;
  children: ComponentChildren;
}

interface State {
  message: string | undefined;
  about: string;
}

export class Boundary extends Component<Props, State> {
  override state: State = { message: undefined, about: this.props.about };

  static override getDerivedStateFromProps({ about }: Props, state: State): Partial<State> | null {
    return about === state.about ? null : { about, message: undefined };
  }

  override componentDidCatch(error: unknown): void {
    this.setState({ message: error instanceof Error ? error.message : String(error) });
  }

  override render({ children }: Props, { message }: State): ComponentChildren {
    if (message === undefined) return children;
    return (
      <div class="state trouble" role="alert">
        <h2>{TEXTS.fault.title}</h2>
        <p>{TEXTS.fault.next}</p>
        <p class="server-words">{message}</p>
        <p class="buttons">
          <button type="button" onClick={() => this.setState({ message: undefined })}>
            {TEXTS.again}
          </button>
        </p>
      </div>
    );
  }
}
