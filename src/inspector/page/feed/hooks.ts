// Preact hooks for the store, the current view and polled data.

import { useCallback, useEffect, useState } from 'preact/hooks';
import { type PageView, pathOf, viewAt } from '../address.ts';
import type { PageStore } from './page-store.ts';

/** Returns the store, and re-renders the component when the store changes. */
export function useStore(store: PageStore): PageStore {
  const [, rerender] = useState(0);
  useEffect(() => store.subscribe(() => rerender((count) => count + 1)), [store]);
  return store;
}

export interface GoOptions {
  /** True: replaces the current entry of the browser's history, instead of adding one. @default false */
  readonly isReplacing?: boolean;
}

/** Shows another view. */
export type Go = (view: PageView, options?: GoOptions) => void;

/** Returns the view of the current address, and a function that changes it. */
export function useView(): [PageView, Go] {
  const [view, setView] = useState(() => viewAt(addressNow()));
  useEffect(() => {
    const onPop = () => setView(viewAt(addressNow()));
    addEventListener('popstate', onPop);
    return () => removeEventListener('popstate', onPop);
  }, []);
  const go = useCallback<Go>((next, { isReplacing = false } = {}) => {
    const path = pathOf(next);
    if (path === addressNow()) return;
    if (isReplacing) history.replaceState(null, '', path);
    else history.pushState(null, '', path);
    setView(next);
  }, []);
  return [view, go];
}

/** Current path with query. */
export const addressNow = (): string => location.pathname + location.search;

/** Last poll result. Both are undefined before the first response. */
export interface PollResult<T> {
  readonly value: T | undefined;
  /** Error message of the last poll. */
  readonly problem: string | undefined;
}

/** Pause before retries. */
const RETRY_MS = 2_000;

/**
 * Returns the latest result of `load`, which is called every `everyMs`. `key` identifies the data: if it
 * changes, the hook drops the previous result and loads immediately.
 */
export function usePolled<T>(key: string, load: () => Promise<T>, everyMs: number): PollResult<T> {
  const [result, setResult] = useState<PollResult<T> & { key: string }>({
    key,
    value: undefined,
    problem: undefined,
  });
  useEffect(() => {
    let isCancelled = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const poll = async (): Promise<void> => {
      const next = await load().then(
        (value) => ({ key, value, problem: undefined }),
        (error: unknown) => ({ key, value: undefined, problem: (error as Error).message }),
      );
      if (isCancelled) return;
      setResult(next);
      timer = setTimeout(() => void poll(), next.problem === undefined ? everyMs : RETRY_MS);
    };
    void poll();
    return () => {
      isCancelled = true;
      clearTimeout(timer);
    };
  }, [key, everyMs]);
  return result.key === key ? result : { value: undefined, problem: undefined };
}
