// Keeps the feed open: after a break it tries again every second, for as long as the page is there. The browser's own
// way of trying again gives up for good at the first refusal, and a gateway that is being restarted refuses.

import type { FeedMessage } from './store.ts';

const RETRY_MS = 1_000;
/** Numbers come every second; without any for so long the connection is dead, whatever the browser thinks. */
const SILENCE_MS = 6_000;

export interface ConnectionEvents {
  onMessage(message: FeedMessage): void;
  onStatus(status: 'live' | 'lost' | 'refused'): void;
}

export function connect({ onMessage, onStatus }: ConnectionEvents): void {
  let heardAt = Date.now();
  let source = open();

  function open(): EventSource {
    const feed = new EventSource('/inspector/feed');
    for (const kind of ['tree', 'frame', 'numbers'] as const)
      feed.addEventListener(kind, (event: MessageEvent<string>) => {
        heardAt = Date.now();
        onMessage({ kind, data: JSON.parse(event.data) } as FeedMessage);
        onStatus('live');
      });
    feed.onerror = () => again();
    heardAt = Date.now();
    return feed;
  }

  function again(): void {
    source.close();
    onStatus('lost');
    setTimeout(() => void retry(), RETRY_MS);
  }

  async function retry(): Promise<void> {
    // A feed does not tell why it was refused; this does.
    const status = await fetch('/inspector/machines', {
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
    if (source.readyState !== EventSource.CLOSED && Date.now() - heardAt > SILENCE_MS) again();
  }, SILENCE_MS / 2);
}
