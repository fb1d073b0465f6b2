// A message in the platform's form.

import type { OutboundMessage } from '../../outbound/outbound-message.ts';
import { splitText } from '../../outbound/split-text.ts';

/** A call of the API, as a row of the outbox keeps it. */
export interface WorkspaceCall {
  readonly method: 'chat.postMessage';
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Of one message, as the platform recommends. */
const MAX_TEXT = 4000;

/** Throws UnrenderableError. */
export function workspaceCalls({ target, text }: OutboundMessage): readonly WorkspaceCall[] {
  const place = { channel: target.place, thread_ts: target.thread };
  return splitText(text, { limit: MAX_TEXT, unit: 'entities' }).map((part) => ({
    method: 'chat.postMessage',
    parameters: { ...place, text: escaped(part), unfurl_links: false, unfurl_media: false },
  }));
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
