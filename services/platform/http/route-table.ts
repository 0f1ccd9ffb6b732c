import { type ApiVersion, apiVersionDates, apiVersions, otherApiVersion } from '../../contract/api-version.ts'
import type { Method, Operation, Route } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Binding } from './binding.ts'

/** A route of an operation in one API version. */
export type RouteEntry = { readonly apiVersion: ApiVersion; readonly route: Route; readonly binding: Binding }

/** All routes of a path. `hasStaticRoute`: GET returns a static route. */
export type PathEntries = {
  readonly path: string
  readonly entries: readonly RouteEntry[]
  readonly hasStaticRoute: boolean
}

/** Order paths with fixed segments before paths with parameters, so that a fixed segment matches first. */
const byFixedWords = (a: PathEntries, b: PathEntries): number => {
  const key = (path: string): string => path.replace(/\{\w+\}/g, '\uffff')
  return key(a.path) < key(b.path) ? -1 : key(a.path) > key(b.path) ? 1 : 0
}

/**
 * Group the routes of all bindings by path.
 * Throws if two operations have the same method and path in one API version.
 */
export const routeTable = (
  bindings: readonly Binding[],
  staticRoutes: readonly { readonly path: string }[] = [],
): readonly PathEntries[] => {
  const entries = bindings.flatMap(binding =>
    apiVersions.flatMap(apiVersion =>
      binding.operation.routes[apiVersion].map((route): RouteEntry => ({ apiVersion, route, binding })),
    ),
  )
  const claims = new Set<string>()
  for (const { apiVersion, route, binding } of entries) {
    const claim = `${apiVersion} ${route.method} ${route.path}`
    if (claims.has(claim)) throw new Error(`Two operations have the route ${claim}. One is ${binding.operation.id}.`)
    claims.add(claim)
  }
  const byPath = Map.groupBy(entries, entry => entry.route.path)
  const staticPaths = new Set(staticRoutes.map(staticRoute => staticRoute.path))
  return [...byPath]
    .map(([path, group]) => ({ path, entries: group, hasStaticRoute: staticPaths.has(path) }))
    .toSorted(byFixedWords)
}

const entriesOfVersion = ({ entries }: PathEntries, apiVersion: ApiVersion | null): readonly RouteEntry[] =>
  apiVersion === null ? entries : entries.filter(entry => entry.apiVersion === apiVersion)

/** Return the value of `Allow` for a path in one API version, or in any if `apiVersion` is null. */
export const allowedMethods = (path: PathEntries, apiVersion: ApiVersion | null): string => {
  const methods = new Set<string>(entriesOfVersion(path, apiVersion).map(entry => entry.route.method))
  if (path.hasStaticRoute) methods.add('GET')
  if (methods.has('GET')) methods.add('HEAD')
  return [...methods].toSorted().join(', ')
}

const fillPath = (route: Route, parameters: Readonly<Record<string, string>>): string =>
  route.path.replace(/\{(\w+)\}/g, (whole, name: string) =>
    parameters[name] === undefined ? whole : encodeURIComponent(parameters[name]),
  )

const otherVersionAdvice = (
  operation: Operation,
  apiVersion: ApiVersion,
  parameters: Readonly<Record<string, string>>,
): string => {
  const [right] = operation.routes[apiVersion]
  const owner = `This path belongs to Api-Version ${apiVersionDates[otherApiVersion(apiVersion)]}`
  if (right === undefined) return `${owner}; send that version`
  return `${owner}; with ${apiVersionDates[apiVersion]} use ${right.method} ${fillPath(right, parameters)}`
}

/**
 * Return the entries of a path for a method, one for each possible API version. Never empty.
 * Refuses an unsupported method, and a path of the other API version. The refusal names the correct method or path.
 */
export const entriesFor = (
  path: PathEntries,
  method: string,
  header: ApiVersion | null,
  parameters: Readonly<Record<string, string>>,
): Result<readonly RouteEntry[]> => {
  const requestedMethod: string = method === 'HEAD' ? 'GET' : method
  const candidates = path.entries.filter(entry => entry.route.method === (requestedMethod as Method))
  const inApiVersion = entriesOfVersion(path, header)
  const matching = candidates.filter(entry => inApiVersion.includes(entry))
  if (matching.length > 0) return accepted(matching)
  const [other] = candidates.length > 0 ? candidates : path.entries
  if (inApiVersion.length > 0 || other === undefined || header === null) {
    return refused('method_not_allowed', `Use ${allowedMethods(path, header)} on this path`)
  }
  return refused('not_found', otherVersionAdvice(other.binding.operation, header, parameters))
}
