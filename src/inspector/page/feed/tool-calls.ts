// The tools of a server, and a call of one: what the page asks the gateway for.

import type { CallEnd, ToolDetails, ToolList } from '../../wire/tool-wire.ts';
import { answered, get } from './api.ts';
import { type CallAsked, CallEvents } from './call-events.ts';

const pathOf = (server: string) => `/inspector/servers/${encodeURIComponent(server)}/tools`;

/** Those whose names hold the words of the filter. */
export function tools(server: string, filter: string): Promise<ToolList> {
  return get(`${pathOf(server)}?${new URLSearchParams({ filter })}`);
}

export function tool(server: string, name: string): Promise<ToolDetails> {
  return get(`${pathOf(server)}/${encodeURIComponent(name)}`);
}

/** Rejects where the gateway did not take it, and where its end was not told. */
export async function callTool({ server, tool, args, signal, onProgress }: CallAsked): Promise<CallEnd> {
  const answer = await fetch(`${pathOf(server)}/${encodeURIComponent(tool)}/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ arguments: args }),
    signal,
  });
  if (!answer.ok || answer.body === null) await answered(answer);
  const events = new CallEvents();
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read())
    for (const { kind, data } of events.take(piece.value)) {
      if (kind === 'end') return data;
      onProgress(data);
    }
  throw new Error('the gateway has ended before the call did; whether the tool has run is not known');
}
