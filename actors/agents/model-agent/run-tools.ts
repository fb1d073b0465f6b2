// The tools of an agent that answers within a run which has tools of its own: those beside the ones of servers.

import { type AllTools, OF_RUN, type RunTools, type ToolBox } from './tool-box.ts';

/** `list` is of servers alone. */
export function withRunTools(box: ToolBox, tools: RunTools | undefined): AllTools {
  if (tools === undefined) return box;
  return {
    list: (signal, timeoutMs) => box.list(signal, timeoutMs),
    call: (tool, args, options) =>
      tool.server === OF_RUN ? tools.call(tool.tool, args, options) : box.call(tool, args, options),
  };
}
