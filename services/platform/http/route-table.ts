import { type Layout, layouts, otherLayout, versionOf } from '../../contract/layout.ts'
import type { Method, Operation, Route } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Binding } from './binding.ts'

/** One way in: which binding answers a method at a path in a layout. */
export type Entry = { readonly layout: Layout; readonly route: Route; readonly binding: Binding }

/** All ways in at one path; `hasPage`: reading it gives a page. */
export type PathEntries = { readonly path: string; readonly entries: readonly Entry[]; readonly hasPage: boolean }

/** Paths with fixed words come before those with parameters at the same place, so that the exact word wins. */
const byFixedWords = (a: PathEntries, b: PathEntries): number => {
  const key = (path: string): string => path.replace(/\{\w+\}/g, '\uffff')
  return key(a.path) < key(b.path) ? -1 : key(a.path) > key(b.path) ? 1 : 0
}

/**
 * Gather the routes of all bindings by path; at some of the paths stand pages too.
 * Throws when two operations claim the same method and path of one layout.
 */
export const routeTable = (bindings: readonly Binding[], pages: readonly { readonly path: string }[] = []): readonly PathEntries[] => {
  const entries = bindings.flatMap(binding =>
    layouts.flatMap(layout => binding.operation.routes[layout].map((route): Entry => ({ layout, route, binding }))),
  )
  const claims = new Set<string>()
  for (const { layout, route, binding } of entries) {
    const claim = `${layout} ${route.method} ${route.path}`
    if (claims.has(claim)) throw new Error(`two operations claim ${claim}, one is ${binding.operation.id}`)
    claims.add(claim)
  }
  const byPath = Map.groupBy(entries, entry => entry.route.path)
  const pagePaths = new Set(pages.map(page => page.path))
  return [...byPath].map(([path, group]) => ({ path, entries: group, hasPage: pagePaths.has(path) })).toSorted(byFixedWords)
}

const entriesIn = ({ entries }: PathEntries, layout: Layout | null): readonly Entry[] =>
  layout === null ? entries : entries.filter(entry => entry.layout === layout)

/** The methods of a path in a layout, or in any, as `Allow` lists them. */
export const allowedMethods = (path: PathEntries, layout: Layout | null): string => {
  const methods = new Set<string>(entriesIn(path, layout).map(entry => entry.route.method))
  if (path.hasPage) methods.add('GET')
  if (methods.has('GET')) methods.add('HEAD')
  return [...methods].toSorted().join(', ')
}

const fill = (route: Route, parameters: Readonly<Record<string, string>>): string =>
  route.path.replace(/\{(\w+)\}/g, (whole, name: string) => (parameters[name] === undefined ? whole : encodeURIComponent(parameters[name])))

const elsewhere = (operation: Operation, layout: Layout, parameters: Readonly<Record<string, string>>): string => {
  const [right] = operation.routes[layout]
  const owner = `This path belongs to Api-Version ${versionOf[otherLayout(layout)]}`
  if (right === undefined) return `${owner}; send that version`
  return `${owner}; with ${versionOf[layout]} use ${right.method} ${fill(right, parameters)}`
}

/**
 * Find the entries of a path that answer a method, one for each layout that may be chosen; never empty.
 * Refuses a method that the path does not have, and a path that the named layout does not have, naming the right one.
 */
export const entriesFor = (
  path: PathEntries,
  method: string,
  header: Layout | null,
  parameters: Readonly<Record<string, string>>,
): Result<readonly Entry[]> => {
  const asked: string = method === 'HEAD' ? 'GET' : method
  const candidates = path.entries.filter(entry => entry.route.method === (asked as Method))
  const inLayout = entriesIn(path, header)
  const matching = candidates.filter(entry => inLayout.includes(entry))
  if (matching.length > 0) return accepted(matching)
  const [other] = candidates.length > 0 ? candidates : path.entries
  if (inLayout.length > 0 || other === undefined || header === null) {
    return refused('method_not_allowed', `Use ${allowedMethods(path, header)} on this path`)
  }
  return refused('not_found', elsewhere(other.binding.operation, header, parameters))
}
