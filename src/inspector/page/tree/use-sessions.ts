// How the tree gets at the sessions in sight, and at the place of one that is not.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SessionPlace } from '../../wire/feed-wire.ts';
import { sessionList, sessionPlace } from '../feed/api.ts';
import { useAsked } from '../feed/hooks.ts';
import { SessionWindow } from './session-window.ts';

const REFRESH_MS = 1_000;
const HOUR_MS = 3_600_000;

/** Draws anew when an answer has come. */
export function useSessions(): SessionWindow {
  const [, draw] = useState(0);
  const sessions = useMemo(() => new SessionWindow(sessionList, () => draw((count) => count + 1)), []);
  useEffect(() => () => sessions.want('', undefined), [sessions]);
  return sessions;
}

/** Where a session stands among those that pass the filter; undefined where it does not, or as long as that is not known. */
export function useSessionIndex(
  sessions: SessionWindow,
  number: number | undefined,
  filter: string,
): number | undefined {
  const here = number === undefined ? undefined : sessions.indexOf(number);
  const isElsewhere = number !== undefined && here === undefined;
  const { value } = useAsked<SessionPlace | undefined>(
    isElsewhere ? `${number} ${filter}` : '',
    () => (isElsewhere ? sessionPlace(number, filter) : Promise.resolve(undefined)),
    isElsewhere ? REFRESH_MS : HOUR_MS,
  );
  // While an answer is on its way it is where it was: the list must not jump.
  const last = useRef({ key: '', index: undefined as number | undefined });
  const key = `${number} ${filter}`;
  const index = here ?? (value === undefined ? undefined : (value.index ?? -1));
  if (index !== undefined || last.current.key !== key) last.current = { key, index };
  const known = last.current.index;
  return number === undefined || known === undefined || known < 0 ? undefined : known;
}
