/** The open page, and what stands above all pages. */
import type { ComponentType, JSX } from "preact";
import { addressOf } from "./data/root.ts";
import { router } from "./data/router.ts";
import { useStore } from "./data/use_store.ts";
import { LoginPage } from "./pages/login.tsx";
import { SubmitPage } from "./pages/submit.tsx";
import { WaitingPage } from "./pages/waiting.tsx";
import { WorkflowPage } from "./pages/workflow.tsx";
import { WorkflowsPage } from "./pages/workflows.tsx";
import { type PageEntry, type PageProps, placeOf } from "./paths.ts";
import { Boundary } from "./parts/boundary.tsx";
import { Empty } from "./parts/basics.tsx";
import { KeyHelp, useKeys } from "./parts/keys.tsx";
import { lazyPage } from "./parts/lazy_page.tsx";
import { ConnectionLine, Notices } from "./parts/notices.tsx";
import { TEXTS } from "./texts.ts";

const template = lazyPage(async () => (await import("./pages/template.tsx")).TemplatePage);

function eventPages(name: keyof typeof import("./pages/events.tsx")): ComponentType<PageProps> {
  return lazyPage(async () => (await import("./pages/events.tsx"))[name]);
}

const COMPONENTS: Record<PageEntry["key"], ComponentType<PageProps>> = {
  workflows: WorkflowsPage,
  workflow: WorkflowPage,
  waiting: WaitingPage,
  templates: lazyPage(async () => (await import("./pages/templates.tsx")).TemplatesPage),
  template,
  clusterTemplate: template,
  crons: lazyPage(async () => (await import("./pages/crons.tsx")).CronsPage),
  cron: lazyPage(async () => (await import("./pages/cron.tsx")).CronPage),
  archive: lazyPage(async () => (await import("./pages/archive.tsx")).ArchivePage),
  archived: lazyPage(async () => (await import("./pages/archived.tsx")).ArchivedPage),
  locks: lazyPage(async () => (await import("./pages/locks.tsx")).LocksPage),
  system: lazyPage(async () => (await import("./pages/system.tsx")).SystemPage),
  submit: SubmitPage,
  edit: lazyPage(async () => (await import("./pages/edit.tsx")).EditPage),
  events: eventPages("EventsPage"),
  event: eventPages("EventPage"),
  bindings: eventPages("BindingsPage"),
  binding: eventPages("BindingPage"),
  playground: eventPages("PlaygroundPage"),
  login: LoginPage,
};

/** Nothing is at the address. */
function NoPage(): JSX.Element {
  return (
    <div class="page">
      <Empty title={TEXTS.pages.notFound}>
        <p class="buttons">
          <a class="button main" href={addressOf("/")}>{TEXTS.allWorkflows}</a>
        </p>
      </Empty>
    </div>
  );
}

export function App(): JSX.Element {
  useKeys();
  const path = useStore(router, (context) => context.path);
  const search = useStore(router, (context) => context.search);
  const place = placeOf(path);
  const Page = place && COMPONENTS[place.key];
  return (
    <>
      <ConnectionLine />
      <Boundary about={path}>
        {place !== undefined && Page !== undefined
          ? <Page key={path} params={place.params} query={new URLSearchParams(search)} />
          : <NoPage />}
      </Boundary>
      <Notices />
      <KeyHelp />
    </>
  );
}
