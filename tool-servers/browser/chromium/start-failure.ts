// Explains a failed browser start to the caller, by known patterns in its log. The log itself is written to
// stderr only, because it contains local file names and addresses.

import { logError } from '../../stderr-log.ts';
import { ToolError } from '../../tool-error.ts';

const REASONS: readonly (readonly [RegExp, string])[] = [
  [
    /No usable sandbox|SUID sandbox|setuid sandbox|zygote_host_impl|Operation not permitted.*namespace|credentials\.cc/i,
    'its sandbox does not work on this machine. The operator can allow unprivileged user namespaces (sysctl ' +
      'kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for the ' +
      'browser; in a container, a seccomp profile that permits them), or, if all pages are trusted, start the server with ' +
      '--no-sandbox.',
  ],
  [
    /Missing X server|cannot open display|ozone_platform/i,
    'there is no display for its window. Start the server without --headed, or set DISPLAY or WAYLAND_DISPLAY.',
  ],
  [
    /error while loading shared libraries/i,
    'shared libraries are missing. Install the browser from the packages of the system (Debian: apt-get install chromium).',
  ],
  [/Permission denied|EACCES/i, 'its user is not permitted to execute it.'],
  [/Timeout .*exceeded/i, 'it timed out. The machine may be overloaded; retry.'],
];

/** Returns the error for the caller and logs the details for the operator. */
export function toStartError(error: unknown, program: string): ToolError {
  const text = error instanceof Error ? error.message : String(error);
  logError(`browser: ${program} did not start: ${text}`);
  const reason = REASONS.find(([pattern]) => pattern.test(text));
  return new ToolError(`The browser did not start: ${reason?.[1] ?? 'see the log of the server (stderr).'}`);
}
