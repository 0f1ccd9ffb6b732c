import { isId } from '../../domain/identifier.ts'
import type { Headers } from './log.ts'
import type { RefusedRecord, Submission } from './messages.ts'

/** Maximum size of an entry of the header in bytes. */
export const refusedObjectBytes = 72
/** Maximum number of refused records per message: the embedded log limits a header to 65,535 bytes. */
export const maxRefusedObjects = Math.floor(65_535 / refusedObjectBytes)

/**
 * Write the header with the location and device of each refused record, as `number:loc_…:dev_…`. An unknown id is
 * empty. The header is empty if no object is known. It is a header, so that an earlier release ignores it.
 */
export const toObjectsHeader = (refused: readonly RefusedRecord[]): Headers => {
  const known = refused.filter(({ locationId, deviceId }) => (locationId ?? deviceId ?? null) !== null)
  const text = known.map(
    ({ recordNumber, locationId, deviceId }) => `${recordNumber}:${locationId ?? ''}:${deviceId ?? ''}`,
  )
  return text.length === 0 ? {} : { objects: text.join(';') }
}

const idOrNull = (kind: 'location' | 'device', text: string): string | null => (isId(kind, text) ? text : null)

/** Return the submission with the locations and devices that the headers name for its refused records. */
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
