/** Begins in the browser: fills the shell that the server sent. */
import { render } from "preact";
import { App } from "./app.tsx";
import { followNavigation, hideAsBefore } from "./data/navigation.ts";
import { startRouter } from "./data/router.ts";
import { startSession } from "./data/session.ts";
import { Account } from "./parts/account.tsx";
import { guardDoubleClicks } from "./parts/double_click.ts";
import { showTextsAsTheyAre } from "./parts/shown_texts.ts";

startRouter();
hideAsBefore();
guardDoubleClicks();
showTextsAsTheyAre();
const page = document.getElementById("page");
const account = document.getElementById("account");
if (page !== null && account !== null) {
  page.replaceChildren();
  render(<App />, page);
  render(<Account />, account);
}
void startSession().then(followNavigation);
