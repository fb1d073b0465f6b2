// Why the browser did not start, from what it wrote while it died, in words that tell the operator what to do. The log
// itself goes to stderr: it names files and addresses of this machine.

import { complain } from '../../complaint.ts';
import { ToolError } from '../../tool-error.ts';

const REASONS: readonly (readonly [RegExp, string])[] = [
  [
    /No usable sandbox|SUID sandbox|setuid sandbox|zygote_host_impl|Operation not permitted.*namespace|credentials\.cc/i,
    'its sandbox cannot work on this machine. Its operator can allow unprivileged user namespaces (sysctl ' +
      'kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for the ' +
      'browser; in a container, a seccomp profile that permits them), or, if all pages are trusted, start the server with ' +
      '--no-sandbox.',
  ],
  [
    /Missing X server|cannot open display|ozone_platform/i,
    'there is no display for its window. Start the server without --headed, or give it DISPLAY or WAYLAND_DISPLAY.',
  ],
  [
    /error while loading shared libraries/i,
    'shared libraries are missing. Install the browser from the packages of the system (Debian: apt-get install chromium).',
  ],
  [/Permission denied|EACCES/i, 'the user it runs as may not execute it.'],
  [/Timeout .*exceeded/i, 'it took too long. Is the machine overloaded? Try again.'],
];

/** The error for the caller; tells the operator the rest. */
export function startFailure(error: unknown, program: string): ToolError {
  const text = error instanceof Error ? error.message : String(error);
  complain(`browser: ${program} did not start: ${text}`);
  const found = REASONS.find(([sign]) => sign.test(text));
  return new ToolError(
    `The browser did not start: ${found?.[1] ?? 'the log of this server on stderr says why.'}`,
  );
}
