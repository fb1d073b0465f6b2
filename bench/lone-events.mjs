// What programs that measure a store with nothing around it have in common: their events, and groups of them, several at a time.

const CONVERSATIONS = 65_536;
/** Groups under way at a time, so that whoever is measured never waits for the next one. */
export const GROUPS = 4;
/** Events of a group. */
export const TOGETHER = 64;

const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const meta = '{"triggers":["events"],"event":"issues","isForm":false}';
let count = 0;

/** The next event, each of another conversation, with that body. */
export function nextEvent(body) {
  count += 1;
  const key = `conversation/repohost/octocat/parts#${count % CONVERSATIONS}`;
  return { id: `repohost:alone/${count}`, key, trace, meta, body };
}

/** Has groups of TOGETHER events handled, and prints `rate: EVENTS_PER_SECOND`; the first half second does not count. */
export async function printRate(handleGroup, seconds) {
  await handledUntil(handleGroup, performance.now() + 500);
  const startedAt = performance.now();
  const handled = await handledUntil(handleGroup, startedAt + seconds * 1000);
  console.log(`rate: ${(handled / (performance.now() - startedAt)) * 1000}`);
}

async function handledUntil(handleGroup, untilMs) {
  let handled = 0;
  const run = async () => {
    while (performance.now() < untilMs) {
      await handleGroup();
      handled += TOGETHER;
    }
  };
  await Promise.all(Array.from({ length: GROUPS }, run));
  return handled;
}
