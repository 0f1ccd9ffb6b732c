import type { NotImported, ReportCollector } from './report.ts'
import {
  isSourceList,
  isSourceObject,
  pointer,
  type SourceField,
  type SourceValue,
  sourceFault,
} from './source-value.ts'

/**
 * Members that the objects of a format can have. null: a value without objects. ANY: a value with names of its own,
 * which are not names of the format. A list has the members of its elements.
 */
export type MemberTable = { readonly [name: string]: MemberTable | 'ANY' | null }

/** Create a table of values without objects. */
export const plainMembers = (...names: readonly string[]): MemberTable =>
  Object.fromEntries(names.map(name => [name, null]))

/**
 * Member that its object does not have in the format. `owner` is the path of the object. A misplaced member belongs in
 * another object of the format, so that any part of the file can depend on it.
 */
export type UnknownMember = {
  readonly path: string
  readonly owner: string
  readonly nearest: string | null
  readonly isMisplaced: boolean
}

/** Find the known name that is most similar to an unknown one. */
export type NearestName = (unknown: string, known: readonly string[]) => string | undefined

const minPrefix = 3

const nearestOf = (name: string, known: readonly string[], nearestName: NearestName): string | null => {
  const near = nearestName(name, known)
  if (near !== undefined) return near
  const start = name.toLowerCase()
  return start.length < minPrefix ? null : (known.find(one => one.toLowerCase().startsWith(start)) ?? null)
}

/** Maximum number of unknown members, because each part of a file is compared with each of them. */
const maxUnknown = 200

type MemberVisitor = (name: string, member: SourceValue, at: Pick<UnknownMember, 'path' | 'owner'>) => void

const namesIn = (table: MemberTable): readonly string[] =>
  Object.entries(table).flatMap(([name, members]) =>
    members === null || members === 'ANY' ? [name] : [name, ...namesIn(members)],
  )

/** Find the members of a file that its format does not have. Throws a fault if there are more than 200. */
export const unknownMembers = (
  file: SourceField,
  table: MemberTable,
  nearestName: NearestName,
): readonly UnknownMember[] => {
  const found: UnknownMember[] = []
  const allNames = new Set(namesIn(table))
  const visitMembers = (value: SourceValue | undefined, path: string, visit: MemberVisitor): void => {
    if (isSourceList(value))
      for (const [index, element] of value.entries()) visitMembers(element, pointer(path, index), visit)
    else if (isSourceObject(value))
      for (const [name, member] of Object.entries(value))
        visit(name, member, { path: pointer(path, name), owner: path })
    const [first] = found
    if (first !== undefined && found.length > maxUnknown)
      throw sourceFault(
        first.path,
        `and ${maxUnknown} other members are unknown. Check the format`,
        'too_many_elements',
      )
  }
  const visitAny = (value: SourceValue, path: string): void =>
    visitMembers(value, path, (name, member, at) => {
      if (allNames.has(name)) found.push({ ...at, nearest: null, isMisplaced: true })
      else visitAny(member, at.path)
    })
  const visitKnown = (value: SourceValue | undefined, path: string, members: MemberTable): void =>
    visitMembers(value, path, (name, member, at) => {
      const known = Object.hasOwn(members, name) ? members[name] : undefined
      const isMisplaced = allNames.has(name)
      const nearest = (): string | null => (isMisplaced ? null : nearestOf(name, Object.keys(members), nearestName))
      if (known === undefined) found.push({ ...at, nearest: nearest(), isMisplaced })
      else if (known === 'ANY') visitAny(member, at.path)
      else visitKnown(member, at.path, known ?? {})
    })
  visitKnown(file.value, file.path, table)
  return found
}

const isInside = (path: string, container: string): boolean => path.startsWith(`${container}/`)

/** Select the unknown members on which a part of a file can depend: in it, in the objects that hold it, and misplaced. */
export const unknownAround = (
  unknown: readonly UnknownMember[],
  { path }: Pick<SourceField, 'path'>,
): readonly UnknownMember[] =>
  unknown.filter(
    member =>
      member.isMisplaced || isInside(member.path, path) || isInside(path, member.owner) || path === member.owner,
  )

const messageOf = ({ nearest, isMisplaced }: UnknownMember): string => {
  if (isMisplaced) return 'The format has this member in another object. Move it there.'
  const advice = nearest === null ? 'Leave it out if it has no price and no condition.' : `Do you mean "${nearest}"?`
  return `The format has no such member here. ${advice}`
}

/** Report unknown members. Returns true if there are any. */
export const reportUnknown = (
  unknown: readonly UnknownMember[],
  { reason = 'unknown_member', affects }: Pick<NotImported, 'affects'> & Partial<Pick<NotImported, 'reason'>>,
  { report }: { readonly report: ReportCollector },
): boolean => {
  for (const member of unknown)
    report.addNotImported({ path: member.path, reason, affects, message: messageOf(member) })
  return unknown.length > 0
}

/** Report parts that are not imported because of unknown members. */
export const reportKeptOut = (
  parts: readonly SourceField[],
  { reason = 'unknown_member', affects }: Pick<NotImported, 'affects'> & Partial<Pick<NotImported, 'reason'>>,
  { report }: { readonly report: ReportCollector },
): void => {
  const message = affects === 'price' ? 'Its tariff is not imported.' : 'Its charge is not imported.'
  for (const { path, value } of parts)
    if (value !== undefined && value !== null) report.addNotImported({ path, reason, affects, message })
}
