// Preact hook for the event stream of a run. The stream is closed while the page is hidden, because browsers
// limit the connections per host.

import { useEffect, useState } from 'preact/hooks';
import type { RunMessage } from '../../wire/run.ts';
import { HOME } from '../home.ts';
import { applyMessage, emptyRun, type WatchedRunState } from '../runs/state.ts';
import { fetchRun, runPath } from './api.ts';

const RETRY_MS = 1_500;

export interface WatchedRun {
  readonly runState: WatchedRunState;
  /** Reason for missing or outdated data. */
  readonly problem: string | undefined;
}

/** Returns the run's state, updated by the event stream. Reconnects after failures. */
export function useRun(id: string): WatchedRun {
  const [run, setRun] = useState<WatchedRun>({ runState: emptyRun, problem: undefined });
  useEffect(() => {
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const open = (): void => {
      timer = undefined;
      if (isOver || source !== undefined || document.hidden) return;
      // Each stream starts with the complete state.
      let runState = emptyRun;
      const stream = new EventSource(`${HOME}/${runPath(id)}/feed`);
      source = stream;
      for (const kind of ['run', 'steps', 'plan', 'parts', 'text'] as const)
        stream.addEventListener(kind, (event: MessageEvent<string>) => {
          if (source !== stream) return;
          runState = applyMessage(runState, { kind, data: JSON.parse(event.data) } as RunMessage);
          setRun({ runState, problem: undefined });
        });
      stream.onerror = () => void reopen(stream);
    };
    const reopen = async (stream: EventSource): Promise<void> => {
      stream.close();
      if (source !== stream) return;
      source = undefined;
      timer ??= setTimeout(open, RETRY_MS);
      // EventSource does not report the HTTP status; this request does.
      const problem = await fetchRun(id).then(
        () => undefined,
        (error: Error) => error.message,
      );
      if (!isOver && problem !== undefined) setRun(({ runState }) => ({ runState, problem }));
    };
    const onVisibilityChange = (): void => {
      if (!document.hidden) open();
      else {
        source?.close();
        source = undefined;
      }
    };
    document.addEventListener('visibilitychange', onVisibilityChange);
    open();
    return () => {
      isOver = true;
      document.removeEventListener('visibilitychange', onVisibilityChange);
      clearTimeout(timer);
      source?.close();
    };
  }, [id]);
  return run;
}
