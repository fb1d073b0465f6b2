// Arguments of a call in an audit line: redacted, and bounded.

import { isCredentialName } from '../../config/credentials/credential-names.ts';
import { REDACTION_MARK } from '../base/errors/redact.ts';
import { redactJson } from '../base/errors/redacted-json.ts';

/** Maximum size of recorded arguments, in characters. */
const MAX_CHARS = 4_096;

/**
 * Returns the arguments as JSON, without credentials and values of members that are named like credentials.
 * Longer arguments are replaced by their size.
 */
export function argumentsJson(raw: string, redact: (text: string) => string): string {
  if (raw.length > MAX_CHARS) return JSON.stringify({ omitted_bytes: Buffer.byteLength(raw) });
  try {
    const value = JSON.parse(raw, (name, member: unknown) =>
      typeof member !== 'object' && name !== '' && isCredentialName(name) ? REDACTION_MARK : member,
    );
    return JSON.stringify(redactJson(value, redact));
  } catch {
    return 'null';
  }
}
