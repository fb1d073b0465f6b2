// A soak run: for some minutes a gateway receives events and calls, and is disturbed by random faults. Then
// the faults end, all agents answer, pending work completes, and the invariants are checked.

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
import { PulseWatch } from './pulse-watch.mjs';
import { Chance } from './random.mjs';
import { Senders } from './senders.mjs';
import { SECRET, TOKEN, World } from './world.mjs';

/**
 * Runs a soak. `onProgress` is called every second with the journal, `onViolation` with a line for each
 * violation.
 * @returns {Promise<object>} counts and violations
 */
export async function soak({ minutes, seed, dist, canMount, without, onProgress, onViolation, signal }) {
  const journal = new Journal();
  journal.onViolation = onViolation;
  const chanceOf = (name) => new Chance(seed, name);
  let gateway;
  const agents = new Agents({ journal, chance: chanceOf('agents'), life: () => gateway?.number });
  const host = new CommentHost({ journal });
  await Promise.all([agents.start(), host.start()]);
  const world = new World({ agents, host, canMount, minutes });
  await world.make();
  gateway = new GatewayLife({ world, journal, dist, secrets: [SECRET, TOKEN] });
  const ending = new AbortController();
  const over = ending.signal;
  const timer = setTimeout(() => ending.abort(), minutes * 60_000);
  signal.addEventListener('abort', () => ending.abort(), { once: true });
  // All parts of the soak listen to this signal.
  setMaxListeners(0, over);
  const user = { url: gateway.url, tokenFile: world.tokenFile, journal, chanceOf, signal: over };
  const senders = new Senders(user);
  const callers = new Callers(user);
  const operator = new Operator({ ...user, agents });
  const chance = chanceOf('faults');
  const faults = new Faults({ gateway, world, host, operator, journal, chance, signal: over, without });
  const pulse = new PulseWatch({ agents, world, journal });
  const watch = setInterval(() => {
    gateway.weigh();
    pulse.check();
    onProgress(journal);
  }, 1_000);
  try {
    await journal.disturbing('start', () => gateway.start());
    await Promise.all([senders.run(), callers.run(), operator.run(), faults.run()]);
    agents.heal();
    host.isHealed = true;
    world.restore();
    await operator.post('/admin/reload');
    await settle({ operator, journal });
    const deliveries = await allDeliveries(operator);
    journal.count('deliveries', deliveries.size);
    checkEvents({ deliveries, senders, operator, agents, host, journal });
    await gateway.stop();
    checkStore({ world, journal });
    await checkProcesses({ world, journal });
  } catch (error) {
    journal.violate('the soak completes', error.stack ?? String(error));
    await gateway.kill().catch(() => {});
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    agents.stop();
    host.stop();
    await sleep(100);
    world.close(journal.isClean);
  }
  const folder = journal.isClean ? undefined : world.folder;
  return { seed, minutes, hasDisk: canMount, folder, ...journal.figures() };
}
