// Caches one workspace per server until the page is closed.

import { callTool } from '../feed/tool-calls.ts';
import { ToolWorkspace } from './workspace.ts';

const MAX_WORKSPACES = 20;
const workspaces = new Map<string, ToolWorkspace>();

export function workspaceOf(server: string): ToolWorkspace {
  const workspace = workspaces.get(server) ?? new ToolWorkspace(server, callTool);
  workspaces.delete(server);
  workspaces.set(server, workspace);
  for (const [id, { running }] of workspaces) {
    if (workspaces.size <= MAX_WORKSPACES) break;
    if (running === undefined) workspaces.delete(id);
  }
  return workspace;
}
