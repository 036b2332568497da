// Puts a newer rendering of the live part in place once a second, and lists events as they come.
// Everything that is shown was escaped by the server, or is set as text.
"use strict";

const live = document.getElementById("live");
const offline = document.getElementById("offline");
const events = document.getElementById("events");

function clock(ms) {
  return new Date(ms).toTimeString().slice(0, 8);
}

async function refresh() {
  if (document.hidden) {
    return;
  }
  try {
    const answer = await fetch(location.pathname + "?live", { cache: "no-store" });
    if (!answer.ok) {
      throw new Error(answer.statusText);
    }
    live.innerHTML = await answer.text();
    offline.hidden = true;
  } catch {
    offline.hidden = false;
  }
}

function show(event) {
  const line = document.createElement("li");
  if (event.warning) {
    line.className = "warning";
  }
  for (const [tag, text] of [["time", clock(event.unix_ms)], ["span", event.family], ["span", event.text]]) {
    const part = document.createElement(tag);
    part.textContent = text;
    line.append(part);
  }
  line.children[1].className = "family";
  events.prepend(line);
  while (events.children.length > Number(events.dataset.most)) {
    events.lastElementChild.remove();
  }
}

if (live && events) {
  for (const time of events.querySelectorAll("time")) {
    time.textContent = clock(Number(time.dataset.ms));
  }
  const again = async () => {
    await refresh();
    setTimeout(again, 1000);
  };
  setTimeout(again, 1000);
  const source = new EventSource(events.dataset.stream + "?since=" + events.dataset.last);
  source.addEventListener("event", (message) => show(JSON.parse(message.data)));
}
