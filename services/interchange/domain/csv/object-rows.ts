import { type RefusedRow, refusedRow } from '../reading.ts'
import { type ColumnChoices, type Columns, type ColumnsProblem, findColumns, unguardText } from './columns.ts'

/** Members of an object: texts, and objects of texts. */
export type ObjectMembers = { readonly [name: string]: string | ObjectMembers }

/** Object of a row by its line. */
export type ObjectRow = { readonly line: number; readonly reference: string; readonly members: ObjectMembers }

/** Reads rows of objects. */
export type ObjectReader = {
  readonly otherHeadings: readonly string[]
  readonly readRow: (cells: readonly string[], line: number) => ObjectRow | RefusedRow
}

/** Set a member. An assignment to __proto__ would set no member. */
const setMember = (members: object, name: string, value: unknown): void => {
  Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true })
}

/** Set the member at a path. */
const addMember = (members: Record<string, unknown>, path: readonly string[], value: string): void => {
  const [name = '', ...rest] = path
  if (rest.length === 0) {
    setMember(members, name, value)
    return
  }
  const inner = Object.hasOwn(members, name) ? (members[name] as Record<string, unknown>) : {}
  setMember(members, name, inner)
  addMember(inner, rest, value)
}

/**
 * Return a reader of objects with a header of fields. `pathOf` returns the path of the member of a field; undefined for an
 * unknown field. Blank cells are absent. The reader refuses rows without `reference_id`.
 */
export const openObjectRows = (
  header: readonly string[],
  choices: ColumnChoices,
  pathOf: (field: string) => readonly string[] | undefined,
): ObjectReader | ColumnsProblem => {
  const isField = (name: string) => pathOf(name) !== undefined
  const columns: Columns | ColumnsProblem = findColumns(header, choices, isField)
  if ('problem' in columns) return columns
  if (!columns.indexes.has('reference_id')) {
    return { problem: 'The file has no column reference_id. Name it: --columns reference_id=HEADING.' }
  }
  return {
    otherHeadings: columns.others.map(index => header[index] ?? ''),
    readRow: (cells, line) => {
      if (cells.length !== header.length) {
        const message = `The row has ${cells.length} columns, and the header has ${header.length}.`
        return refusedRow(line, null, 'wrong_columns', message)
      }
      const members: Record<string, unknown> = {}
      for (const [field, [index = -1]] of columns.indexes) {
        const value = unguardText(cells[index] ?? '').trim()
        if (value !== '') addMember(members, pathOf(field) ?? [field], value)
      }
      const reference = members['reference_id']
      if (typeof reference !== 'string')
        return refusedRow(line, 'reference_id', 'field_required', 'The row has no reference_id.')
      return { line, reference, members: members as ObjectMembers }
    },
  }
}
