import { isId } from '../domain/identifier.ts'
import { type ImportedKind, importedKinds, type RowPlace } from '../platform/clickhouse/readings/import-rows.ts'

/**
 * State of an undo between two calls. `kind` null: all rows are done. `from`: start of the rows that are next, in ms. `after`:
 * last row of a month that is not complete.
 */
export type UndoCursor = {
  readonly kind: ImportedKind | null
  readonly from: number
  readonly after: RowPlace | null
  readonly withdrawn: number
  readonly restored: number
  readonly unchanged: number
}

/** Write a cursor as text without characters that need quotes. */
export const writeUndoCursor = ({ kind, from, after, withdrawn, restored, unchanged }: UndoCursor): string =>
  [
    ...[kind, from, withdrawn, restored, unchanged],
    ...(after === null ? [] : [after.locationId, after.start, after.recordId, Number(after.isRestart)]),
  ].join('.')

const pattern =
  /^([a-z]+)\.(\d{1,14})\.(\d{1,14})\.(\d{1,14})\.(\d{1,14})(?:\.(loc_[0-9a-f]{24})\.(\d{1,14})\.([0-9a-f]{24})\.([01]))?$/

/** End of the times that the stores know, in ms. */
const endOfTime = Date.UTC(2300, 0)

/** Read a cursor. Null if the text is none. */
export const readUndoCursor = (text: string): UndoCursor | null => {
  const [, name, from, withdrawn, restored, unchanged, locationId, start, recordId, restart] = pattern.exec(text) ?? []
  const kind = importedKinds.find(one => one === name)
  if (kind === undefined || Number(from) > endOfTime || Number(start ?? 0) > endOfTime) return null
  const isPlace = locationId !== undefined && isId('location', locationId) && recordId !== undefined
  return {
    kind,
    from: Number(from),
    after: isPlace ? { locationId, start: Number(start), recordId, isRestart: restart === '1' } : null,
    withdrawn: Number(withdrawn),
    restored: Number(restored),
    unchanged: Number(unchanged),
  }
}
