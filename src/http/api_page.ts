/**
 * The page at `/apidocs`: lists the operations of `/openapi.json` and sends requests. It loads nothing from other servers.
 * Its addresses are relative, so that it also works below a prefix that a proxy removes.
 * `docs/decisions/0008-page-to-try-the-api.md` says why it is our own.
 */

export const API_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice API</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
details { border: 1px solid #8884; border-radius: 6px; margin: .4rem 0; padding: .3rem .7rem; }
summary { cursor: pointer; } summary code { margin-left: .5rem; overflow-wrap: anywhere; }
.method { display: inline-block; width: 4.5rem; font-weight: 600; }
label { display: grid; grid-template-columns: minmax(0, 18rem) minmax(0, 1fr); gap: .5rem; margin: .25rem 0; overflow-wrap: anywhere; }
input, textarea, button { font: inherit; box-sizing: border-box; max-width: 100%; } textarea { width: 100%; height: 12rem; font-family: monospace; }
pre { overflow: auto; max-height: 30rem; background: #8881; padding: .7rem; border-radius: 6px; }
nav a { margin-right: 1rem; }
</style>
<h1>Sluice API</h1>
<nav><a href="openapi.json">openapi.json</a><a href="schema/Manifest.json">JSON Schema of the manifests</a></nav>
<p><label>Authorization header <input id="token" autocomplete="off" placeholder="Bearer …"></label></p>
<main id="operations">Loading …</main>
<script type="module" src="apidocs/page.js"></script>
</html>
`;

export const API_PAGE_SCRIPT = `
const api = await (await fetch("openapi.json")).json();
const main = document.getElementById("operations");
main.textContent = "";
const make = (tag, text, parent) => {
  const element = document.createElement(tag);
  element.textContent = text;
  parent.append(element);
  return element;
};
for (const { name } of api.tags) {
  make("h2", name, main);
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.tags[0] === name) main.append(operationForm(path, method, operation));
    }
  }
}
function formOf(file) {
  const form = new FormData();
  if (file) form.append("file", file);
  return form;
}
function operationForm(path, method, operation) {
  const box = document.createElement("details");
  const head = make("summary", "", box);
  make("span", method.toUpperCase(), head).className = "method";
  make("span", operation.summary, head);
  make("code", path, head);
  const inputs = (operation.parameters ?? []).map((parameter) => {
    const label = make("label", parameter.name, box);
    const input = make("input", "", label);
    input.placeholder = (parameter.schema.enum?.join(" | ") ?? parameter.schema.type) + (parameter.in === "path" ? ", in the path" : "");
    return { parameter, input };
  });
  const isForm = operation.requestBody?.content["multipart/form-data"] !== undefined;
  const body = operation.requestBody ? make(isForm ? "input" : "textarea", "", box) : undefined;
  if (isForm) body.type = "file";
  else if (body) body.value = "{}";
  const button = make("button", "Send", box);
  const output = make("pre", "", box);
  button.onclick = async () => {
    let target = path.slice(1);
    const query = new URLSearchParams();
    for (const { parameter, input } of inputs) {
      if (parameter.in === "path") {
        target = target.replace("{" + parameter.name + "}", encodeURIComponent(input.value));
      } else if (input.value !== "") query.append(parameter.name, input.value);
    }
    const token = document.getElementById("token").value;
    const url = query.size > 0 ? target + "?" + query : target;
    output.textContent = method.toUpperCase() + " /" + url + "\\n";
    try {
      const response = await fetch(url, {
        method: method.toUpperCase(),
        headers: token === "" ? {} : { authorization: token },
        body: isForm ? formOf(body.files[0]) : body?.value,
      });
      output.textContent += response.status + " " + response.statusText + "\\n\\n";
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        text += part.value;
        output.textContent += part.value;
      }
      try {
        const pretty = JSON.stringify(JSON.parse(text), null, 2);
        output.textContent = output.textContent.slice(0, -text.length) + pretty;
      } catch { /* a stream of several values stays as it came */ }
    } catch (error) {
      output.textContent += String(error);
    }
  };
  return box;
}
`;
