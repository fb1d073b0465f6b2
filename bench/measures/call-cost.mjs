// Processor time per call of the process between client and server.

import { interleave } from '../interleave.mjs';
import { ownTargets, rivals } from '../targets.mjs';

export const name = 'call-cost';
export const title = 'Processor time per call';
export const about = `User and system time of the process between client and server, from \`/proc\`, divided by the number of calls.
The time of the upstream and of the load generator is excluded. With more connections, more calls share a turn
of the event loop and a system call.`;

export async function* run(bench) {
  const targets = await Promise.all([ownTargets(bench), rivals(bench)]);
  yield* interleave(bench, targets.flat(), [1, 64], async ({ load, cpuSeconds }, connections) => {
    const before = cpuSeconds();
    const { calls } = await load({ connections, seconds: bench.seconds });
    const value = ((cpuSeconds() - before) * 1e6) / calls;
    return [{ column: `µs per call at ${connections}`, value, unit: 'µs' }];
  });
}
