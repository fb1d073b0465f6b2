// One run as it goes on: a stream of its own beside the feed, as long as the run is shown and the page is in sight. A browser opens only
// a few connections to one gateway, and pages behind others need none of them.

import { useEffect, useState } from 'preact/hooks';
import type { RunMessage } from '../../wire/run-wire.ts';
import { nothingShown, type ShownRunState, withMessage } from '../runs/run-state.ts';
import { run as asked, runPath } from './api.ts';

const RETRY_MS = 1_500;

export interface WatchedRun {
  readonly shown: ShownRunState;
  /** Why there is nothing, or nothing new. */
  readonly problem: string | undefined;
}

export function useRun(id: string): WatchedRun {
  const [watched, setWatched] = useState<WatchedRun>({ shown: nothingShown, problem: undefined });
  useEffect(() => {
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const open = (): void => {
      timer = undefined;
      if (isOver || source !== undefined || document.hidden) return;
      // The stream begins with all of it.
      let shown = nothingShown;
      const stream = new EventSource(`/inspector/${runPath(id)}/feed`);
      source = stream;
      for (const kind of ['run', 'steps', 'plan', 'parts', 'text'] as const)
        stream.addEventListener(kind, (event: MessageEvent<string>) => {
          if (source !== stream) return;
          shown = withMessage(shown, { kind, data: JSON.parse(event.data) } as RunMessage);
          setWatched({ shown, problem: undefined });
        });
      stream.onerror = () => void again(stream);
    };
    const again = async (stream: EventSource): Promise<void> => {
      stream.close();
      if (source !== stream) return;
      source = undefined;
      timer ??= setTimeout(open, RETRY_MS);
      // A stream does not tell why it was refused; this does.
      const problem = await asked(id).then(
        () => undefined,
        (error: Error) => error.message,
      );
      if (!isOver && problem !== undefined) setWatched(({ shown }) => ({ shown, problem }));
    };
    const onSight = (): void => {
      if (!document.hidden) open();
      else {
        source?.close();
        source = undefined;
      }
    };
    document.addEventListener('visibilitychange', onSight);
    open();
    return () => {
      isOver = true;
      document.removeEventListener('visibilitychange', onSight);
      clearTimeout(timer);
      source?.close();
    };
  }, [id]);
  return watched;
}
