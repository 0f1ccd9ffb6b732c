import { isId } from '../../domain/identifier.ts'
import type { Headers } from './log.ts'
import type { RefusedRecord, Submission } from './messages.ts'

/** Bytes that an entry takes at most in the header. */
export const refusedObjectBytes = 72
/** Refused records of one message: the embedded log holds headers of at most 65,535 bytes. */
export const maxRefusedObjects = Math.floor(65_535 / refusedObjectBytes)

/**
 * Write the header that names the location and device of each refused record, as `number:loc_…:dev_…`; an id that is unknown is empty.
 * It is a header, so that readers of the version before pass over it. Empty if no object is known.
 */
export const toObjectsHeader = (refused: readonly RefusedRecord[]): Headers => {
  const known = refused.filter(({ locationId, deviceId }) => (locationId ?? deviceId ?? null) !== null)
  const text = known.map(
    ({ recordNumber, locationId, deviceId }) => `${recordNumber}:${locationId ?? ''}:${deviceId ?? ''}`,
  )
  return text.length === 0 ? {} : { objects: text.join(';') }
}

const idOrNull = (kind: 'location' | 'device', text: string): string | null => (isId(kind, text) ? text : null)

/** Give the refused records of a submission the objects that its message's headers name. */
export const withObjects = (submission: Submission, { objects = '' }: Headers): Submission => {
  if (objects === '') return submission
  const byNumber = new Map(
    objects.split(';').map(entry => {
      const [number = '', location = '', device = ''] = entry.split(':')
      return [Number(number), { locationId: idOrNull('location', location), deviceId: idOrNull('device', device) }]
    }),
  )
  return { ...submission, refused: submission.refused.map(one => ({ ...one, ...byNumber.get(one.recordNumber) })) }
}
