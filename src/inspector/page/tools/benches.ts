// The benches of all servers, while the page is open.

import { callTool } from '../feed/tool-calls.ts';
import { ToolBench } from './tool-bench.ts';

const MAX_BENCHES = 20;
const benches = new Map<string, ToolBench>();

/** The one of that server. */
export function benchOf(server: string): ToolBench {
  const bench = benches.get(server) ?? new ToolBench(server, callTool);
  benches.delete(server);
  benches.set(server, bench);
  for (const [id, { running }] of benches) {
    if (benches.size <= MAX_BENCHES) break;
    if (running === undefined) benches.delete(id);
  }
  return bench;
}
