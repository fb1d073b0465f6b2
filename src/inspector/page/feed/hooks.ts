// How the views get at what is not theirs: the store, the address, and answers that are asked for again and again.

import { useCallback, useEffect, useState } from 'preact/hooks';
import { pathOf, type View, viewAt } from '../address.ts';
import type { PageStore } from './page-store.ts';

/** Draws anew when the store has changed. */
export function useStore(store: PageStore): PageStore {
  const [, draw] = useState(0);
  useEffect(() => store.subscribe(() => draw((count) => count + 1)), [store]);
  return store;
}

export type Go = (view: View, isReplacing?: boolean) => void;

/** The view that the address names, and the way to another. */
export function useView(): [View, Go] {
  const [view, setView] = useState(() => viewAt(addressNow()));
  useEffect(() => {
    const onPop = () => setView(viewAt(addressNow()));
    addEventListener('popstate', onPop);
    return () => removeEventListener('popstate', onPop);
  }, []);
  const go = useCallback<Go>((next, isReplacing = false) => {
    const path = pathOf(next);
    if (path === addressNow()) return;
    if (isReplacing) history.replaceState(null, '', path);
    else history.pushState(null, '', path);
    setView(next);
  }, []);
  return [view, go];
}

/** The path that the browser shows, with its query. */
export const addressNow = (): string => location.pathname + location.search;

export interface Asked<T> {
  readonly value: T | undefined;
  readonly problem: string | undefined;
}

/** How soon it is asked again when there was no answer. */
const RETRY_MS = 2_000;

/** Asks now, when `key` changes, and every `everyMs`; an answer that comes too late is dropped. */
export function useAsked<T>(key: string, ask: () => Promise<T>, everyMs: number): Asked<T> {
  const [asked, setAsked] = useState<Asked<T> & { key: string }>({
    key,
    value: undefined,
    problem: undefined,
  });
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = async (): Promise<void> => {
      const next = await ask().then(
        (value) => ({ key, value, problem: undefined }),
        (error: unknown) => ({ key, value: undefined, problem: (error as Error).message }),
      );
      if (isOver) return;
      setAsked(next);
      timer = setTimeout(() => void again(), next.problem === undefined ? everyMs : RETRY_MS);
    };
    void again();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [key, everyMs]);
  return asked.key === key ? asked : { value: undefined, problem: undefined };
}
