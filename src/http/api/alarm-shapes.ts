// Types of the JSON of alarms, in `GET /stats` and `GET /health`, for API, CLI and inspector (see
// server-shapes.ts).

import type { AlarmCode, AlarmSeverity } from '../../../actors/base/alarms/alarm-codes.ts';

/** Alarm in `GET /health`, which needs no key: the message is omitted, as it can contain paths and names. */
export interface AlarmState {
  readonly code: AlarmCode;
  /** `error`: a part of the gateway does not work. `warning`: a risk or a delay. */
  readonly severity: AlarmSeverity;
  readonly since: string;
  /** Number of occurrences; null for a state. */
  readonly count: number | null;
}

export interface AlarmRecord extends AlarmState {
  /** Fact, value and remedy. */
  readonly message: string;
}
