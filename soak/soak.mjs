// One soak: a gateway with everything it can have, people and programs that use it, and faults that come by chance, for some
// minutes. Then everybody is healed, what is under way comes to its end, and the invariants are looked at.

import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agents } from './agents.mjs';
import { Callers } from './callers.mjs';
import { allDeliveries, checkEvents, checkProcesses, checkStore, settle } from './checks.mjs';
import { CommentHost } from './comment-host.mjs';
import { Faults } from './faults.mjs';
import { GatewayLife } from './gateway.mjs';
import { Journal } from './journal.mjs';
import { Operator } from './operator.mjs';
import { Chance } from './random.mjs';
import { Senders } from './senders.mjs';
import { SECRET, TOKEN, World } from './world.mjs';

/** A schedule of every second must be seen, whatever else is under way. */
const PULSE_MS = 20_000;
/** However often it is killed and its clock is set. */
const LONGEST_SILENCE_MS = 150_000;

/**
 * Runs a soak. `onProgress` is called every second with the journal, `onViolation` with a line for each violation.
 * @returns {Promise<object>} what was counted, and what did not hold
 */
export async function soak({ minutes, seed, dist, hasDisk, without, onProgress, onViolation, signal }) {
  const journal = new Journal();
  journal.onViolation = onViolation;
  const chanceOf = (name) => new Chance(seed, name);
  let gateway;
  const agents = new Agents({ journal, chance: chanceOf('agents'), life: () => gateway?.number });
  const host = new CommentHost({ journal });
  await Promise.all([agents.start(), host.start()]);
  const world = new World({ agents, host, hasDisk, minutes });
  await world.make();
  gateway = new GatewayLife({ world, journal, dist, secrets: [SECRET, TOKEN] });
  const ending = new AbortController();
  const over = ending.signal;
  const timer = setTimeout(() => ending.abort(), minutes * 60_000);
  signal.addEventListener('abort', () => ending.abort(), { once: true });
  // Everybody who waits listens to it.
  setMaxListeners(0, over);
  const part = { url: gateway.url, journal, chanceOf, signal: over };
  const senders = new Senders(part);
  const callers = new Callers(part);
  const operator = new Operator({ ...part, chance: chanceOf('operator'), agents });
  const faults = new Faults({
    ...{ gateway, world, host, operator, journal, signal: over, without },
    chance: chanceOf('faults'),
  });
  let quietSince = 0;
  const watchPulse = () => {
    const now = performance.now();
    // A clock that is set back by little repeats no instant, and a larger step is noticed within half a minute.
    if (!journal.wasCalm(now) || world.now <= agents.lastInstant + 1_000) quietSince = now;
    const isMissed = now - Math.max(quietSince, agents.lastPulseAt) > PULSE_MS;
    if (!isMissed && now - agents.lastPulseAt < LONGEST_SILENCE_MS) return;
    const seconds = Math.round((now - agents.lastPulseAt) / 1000);
    journal.violate('a schedule of every second comes, whatever else is under way', `not for ${seconds} s`);
    agents.lastPulseAt = now;
  };
  const watch = setInterval(() => {
    gateway.weigh();
    watchPulse();
    onProgress(journal);
  }, 1_000);
  try {
    await journal.disturbing('start', () => gateway.start());
    await Promise.all([senders.run(), callers.run(), operator.run(), faults.run()]);
    agents.heal();
    host.isHealed = true;
    world.restore();
    await operator.ask('/admin/reload', 'POST');
    await settle({ operator, journal });
    const deliveries = await allDeliveries(operator);
    journal.count('deliveries', deliveries.size);
    checkEvents({ deliveries, senders, operator, agents, host, journal });
    await gateway.stop();
    checkStore({ world, journal });
    await checkProcesses({ world, journal });
  } catch (error) {
    journal.violate('the soak comes to its end', error.stack ?? String(error));
    await gateway.kill().catch(() => {});
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    agents.stop();
    host.stop();
    await sleep(100);
    world.close(journal.isClean);
  }
  return { seed, minutes, hasDisk, folder: journal.isClean ? undefined : world.folder, ...journal.figures() };
}
