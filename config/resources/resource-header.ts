// What all resources have in common: apiVersion, kind and metadata.

import * as Type from 'typebox';
import { textByKey } from '../text-schema.ts';

/** RFC 1123, section 2.1, as DNS has it: a label of up to 63 characters. */
const dnsLabel = '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$';

const words = (description: string) =>
  textByKey('^\\S{1,317}$', Type.String(), { description, patternErrorMessage: 'a name without spaces' });

/** Members of a resource of that kind, beside its `spec`. */
export function resourceHeader<Kind extends string>(kind: Kind) {
  return {
    apiVersion: Type.String({
      description: 'GROUP/v1 or GROUP/v1alpha1; any group.',
      pattern: '^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/v1(alpha1)?$',
      patternErrorMessage: 'GROUP/v1 or GROUP/v1alpha1, such as example.com/v1',
    }),
    kind: Type.Enum([kind], { description: 'The kind of resource.' }),
    metadata: Type.Object(
      {
        name: Type.String({
          description: 'Name of its own among the resources of its kind.',
          pattern: dnsLabel,
          patternErrorMessage: '1 to 63 of a-z 0-9 and -, beginning and ending with a letter or digit',
          shownAs: 'name',
        }),
        namespace: Type.Optional(Type.String({ description: 'Without effect: a gateway has one for all.' })),
        labels: words('Words to find it by.'),
        annotations: words('Anything worth noting.'),
      },
      { description: 'What it is called.' },
    ),
  };
}
