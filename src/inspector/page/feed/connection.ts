// Maintains the event stream of the feed. After failures it reconnects every second, because EventSource
// itself stops when a restarting gateway refuses a connection. Reports `refused` and stops if the gateway
// responds with status 401.

import { HOME } from '../home.ts';
import type { FeedMessage } from './page-state.ts';

const RETRY_MS = 1_000;
/** Time without messages after which the connection is considered dead. Numbers arrive every second. */
const SILENCE_MS = 6_000;

export interface FeedListener {
  onMessage(message: FeedMessage): void;
  onStatus(status: 'live' | 'lost' | 'refused'): void;
}

/** Opens the feed for as long as the page is open. */
export function connect({ onMessage, onStatus }: FeedListener): void {
  let lastMessageAt = Date.now();
  let source = open();

  function open(): EventSource {
    const feed = new EventSource(`${HOME}/feed`);
    for (const kind of ['tree', 'frame', 'numbers'] as const)
      feed.addEventListener(kind, (event: MessageEvent<string>) => {
        lastMessageAt = Date.now();
        onMessage({ kind, data: JSON.parse(event.data) } as FeedMessage);
        onStatus('live');
      });
    feed.onerror = () => scheduleRetry();
    lastMessageAt = Date.now();
    return feed;
  }

  function scheduleRetry(): void {
    source.close();
    onStatus('lost');
    setTimeout(() => void retry(), RETRY_MS);
  }

  async function retry(): Promise<void> {
    // EventSource does not report the HTTP status; this request does.
    const status = await fetch(`${HOME}/machines`, {
      cache: 'no-store',
      signal: AbortSignal.timeout(SILENCE_MS),
    }).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 401) onStatus('refused');
    else source = open();
  }

  setInterval(() => {
    if (source.readyState !== EventSource.CLOSED && Date.now() - lastMessageAt > SILENCE_MS) scheduleRetry();
  }, SILENCE_MS / 2);
}
