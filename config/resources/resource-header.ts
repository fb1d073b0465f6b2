// Schema of the fields that all resource files (triggers, agents, fleets, flows) share: apiVersion, kind and
// metadata.

import * as Type from 'typebox';
import { textByKey } from '../text-schema.ts';

/** DNS label, RFC 1123, section 2.1: at most 63 characters. */
const dnsLabel = '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$';

/** Maximum length of a label's key, as in Kubernetes: a DNS name of 253, a slash, and a name of 63. */
const MAX_KEY = 253 + 1 + 63;

const textsByName = (description: string) =>
  textByKey(`^\\S{1,${MAX_KEY}}$`, Type.String(), {
    description,
    patternErrorMessage: 'a name without spaces',
  });

/** Returns the schemas of the fields for this kind, without `spec`. */
export function resourceHeader<Kind extends string>(kind: Kind) {
  return {
    apiVersion: Type.String({
      description: 'GROUP/v1 or GROUP/v1alpha1; any group.',
      pattern: '^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/v1(alpha1)?$',
      patternErrorMessage: 'GROUP/v1 or GROUP/v1alpha1, such as example.com/v1',
    }),
    kind: Type.Enum([kind], { description: 'Kind of resource.' }),
    metadata: Type.Object(
      {
        name: Type.String({
          description: 'Unique name among resources of this kind.',
          pattern: dnsLabel,
          patternErrorMessage: '1 to 63 of a-z 0-9 and -, beginning and ending with a letter or digit',
          // Allows the API to show the value, see reader/visible-values.ts.
          shownAs: 'name',
        }),
        namespace: Type.Optional(Type.String({ description: 'Ignored: a gateway has a single namespace.' })),
        labels: textsByName('Labels for searching.'),
        annotations: textsByName('Annotations.'),
      },
      { description: 'Name and labels.' },
    ),
  };
}
