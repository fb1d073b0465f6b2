// Codes of the gateway's alarms. docs/operating.md lists their meaning.

export type AlarmSeverity = 'error' | 'warning';

/** `error`: a part of the gateway does not work. `warning`: all parts work, with a risk or with delays. */
export const alarmSeverities = {
  disk_full: 'error',
  store_unavailable: 'error',
  database_unavailable: 'error',
  configuration_invalid: 'error',
  operator_token_missing: 'error',
  audit_not_written: 'error',
  state_folder_unlocked: 'warning',
  history_not_stored: 'warning',
  listener_without_key: 'warning',
  fallback_listener: 'warning',
  clock_changed: 'warning',
  event_loop_stalled: 'warning',
  requests_refused: 'warning',
} as const satisfies Readonly<Record<string, AlarmSeverity>>;

export type AlarmCode = keyof typeof alarmSeverities;

/** Alarms during which the store accepts no events. */
export const storeAlarms = ['disk_full', 'store_unavailable', 'database_unavailable'] as const;
