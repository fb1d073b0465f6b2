// Preact hooks for the visible sessions, and for the index of a session that is not loaded.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SessionPosition } from '../../wire/feed.ts';
import { fetchSession, fetchSessions } from '../feed/api.ts';
import { usePolled } from '../feed/hooks.ts';
import { SessionWindow } from './session-window.ts';

const REFRESH_MS = 1_000;
/** Interval while the session is in the window, so that no request is necessary. */
const HOUR_MS = 3_600_000;
/** Index of a loaded session that does not match the filter. */
const NO_MATCH = -1;

/** Creates the session window. Re-renders after each response. */
export function useSessions(): SessionWindow {
  const [, rerender] = useState(0);
  const sessions = useMemo(() => new SessionWindow(fetchSessions, () => rerender((count) => count + 1)), []);
  // If there is no range, the window requests no sessions.
  useEffect(() => () => sessions.setRange('', undefined), [sessions]);
  return sessions;
}

/** Returns the session's index among the matches; undefined if it does not match or is not loaded. */
export function useSessionIndex(
  sessions: SessionWindow,
  number: number | undefined,
  filter: string,
): number | undefined {
  const windowIndex = number === undefined ? undefined : sessions.indexOf(number);
  const isOutsideWindow = number !== undefined && windowIndex === undefined;
  const { value } = usePolled<SessionPosition | undefined>(
    isOutsideWindow ? `${number} ${filter}` : '',
    () => (isOutsideWindow ? fetchSession(number, filter) : Promise.resolve(undefined)),
    isOutsideWindow ? REFRESH_MS : HOUR_MS,
  );
  // Keeps the previous index during a request, so that the list does not jump.
  const last = useRef({ key: '', index: undefined as number | undefined });
  const key = `${number} ${filter}`;
  const index = windowIndex ?? (value === undefined ? undefined : (value.index ?? NO_MATCH));
  if (index !== undefined || last.current.key !== key) last.current = { key, index };
  const position = last.current.index;
  return number === undefined || position === undefined || position === NO_MATCH ? undefined : position;
}
