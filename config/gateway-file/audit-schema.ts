// Schema of `audit` in the gateway file.

import * as Type from 'typebox';

export const auditSchema = Type.Object(
  {
    path: Type.String({
      description:
        'File for the lines, relative to this file. Previous files have the suffixes .1, .2 and so on.',
      minLength: 1,
      pattern: '^[^\\0]*$',
      patternErrorMessage: 'a path',
      shownAs: 'name',
    }),
    max_bytes: Type.Integer({
      description: 'Size from which a new file begins.',
      default: 100_000_000,
      minimum: 1_000,
      maximum: 10_000_000_000,
    }),
    keep: Type.Integer({
      description: 'Number of previous files; older ones are deleted.',
      default: 5,
      minimum: 1,
      maximum: 1_000,
    }),
    arguments: Type.Boolean({
      description: 'Record the arguments of tool calls, redacted, up to 4096 characters.',
      default: false,
    }),
    log: Type.Boolean({ description: 'Write each line also to the log.', default: false }),
    when_full: Type.Enum(['continue', 'refuse'], {
      description:
        'Behaviour while lines cannot be written, for example on a full disk. `continue`: lines wait in memory, and are dropped and counted beyond 4 MB. `refuse`: calls and operations are refused with 503 before their execution.',
      default: 'continue',
    }),
  },
  { description: 'Audit: one line per call and operation, in a hash chain. Default: no audit.' },
);

export type AuditConfig = Type.Static<typeof auditSchema>;
