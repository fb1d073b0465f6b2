// Shared code of the programs that measure a store in isolation: creates events, and prints the rate at which
// groups of events are handled.

const CONVERSATIONS = 65_536;
/** Number of concurrent groups; enough that the store is never idle. */
export const CONCURRENT_GROUPS = 4;
/** Number of events per group. */
export const EVENTS_PER_GROUP = 64;

const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const meta = '{"triggers":["events"],"event":"issues","isForm":false}';
let count = 0;

/** Returns a GitHub event (`repohost`) with this body, in another conversation than the previous event. */
export function nextEvent(body) {
  count += 1;
  const key = `conversation/repohost/octocat/parts#${count % CONVERSATIONS}`;
  return { id: `repohost:alone/${count}`, key, trace, meta, body };
}

/**
 * Handles groups of events for `seconds` and prints `rate: EVENTS_PER_SECOND`. A warm-up of 0.5 s is not
 * counted.
 */
export async function printRate(handleGroup, seconds) {
  await handleUntil(handleGroup, performance.now() + 500);
  const startedAt = performance.now();
  const handled = await handleUntil(handleGroup, startedAt + seconds * 1000);
  console.log(`rate: ${(handled / (performance.now() - startedAt)) * 1000}`);
}

async function handleUntil(handleGroup, untilMs) {
  let handled = 0;
  const run = async () => {
    while (performance.now() < untilMs) {
      await handleGroup();
      handled += EVENTS_PER_GROUP;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_GROUPS }, run));
  return handled;
}
