// HTTP requests that list, describe and call server tools.

import type { CallEnd, ToolDetails, ToolList } from '../../wire/tools.ts';
import { HOME } from '../home.ts';
import { fetchJson, readResponse } from './api.ts';
import { CallEvents, type PageCall } from './call-events.ts';

const pathOf = (server: string) => `${HOME}/servers/${encodeURIComponent(server)}/tools`;

/** Returns the tools whose names contain all terms of the filter. */
export function fetchTools(server: string, filter: string): Promise<ToolList> {
  return fetchJson(`${pathOf(server)}?${new URLSearchParams({ filter })}`);
}

export function fetchTool(server: string, name: string): Promise<ToolDetails> {
  return fetchJson(`${pathOf(server)}/${encodeURIComponent(name)}`);
}

/** Rejects if the gateway refuses the call, or if the stream closes early. */
export async function callTool({ server, tool, args, signal, onProgress }: PageCall): Promise<CallEnd> {
  const answer = await fetch(`${pathOf(server)}/${encodeURIComponent(tool)}/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ arguments: args }),
    signal,
  });
  if (!answer.ok || answer.body === null) await readResponse(answer);
  const events = new CallEvents();
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read())
    for (const { kind, data } of events.take(piece.value)) {
      if (kind === 'end') return data;
      onProgress(data);
    }
  throw new Error('the gateway stopped during the call; the outcome is unknown');
}
