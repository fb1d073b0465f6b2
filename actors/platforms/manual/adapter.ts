// Triggers of type Manual: nothing comes in by itself. Runs are events that the API makes (event.ts).

import type { ManualTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Adapter } from '../adapter.ts';
import { manualEvent, readManualEvent } from './event.ts';

export const manualAdapter: Adapter<ManualTrigger> = {
  type: 'Manual',
  open: async () => ({ close: async () => {} }),
  runByHand: manualEvent,
  read: readManualEvent,
};
