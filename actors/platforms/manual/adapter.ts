// Adapter for triggers of type Manual. They receive no events from outside; the API creates an event per run
// (event.ts).

import type { ManualTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Adapter } from '../adapter.ts';
import { manualEvent, readManualEvent } from './event.ts';

export const manualAdapter: Adapter<ManualTrigger> = {
  type: 'Manual',
  open: async () => ({ close: async () => {} }),
  manualEvent,
  read: readManualEvent,
};
