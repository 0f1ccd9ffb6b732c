import { accepted, type Result, refused } from '../domain/refusal.ts'

/** The two published forms of the interface: the current release and the one before it. */
export type Layout = 'current' | 'earlier'

export const layouts = ['current', 'earlier'] as const satisfies readonly Layout[]

/** The value of `Api-Version` that stands for each layout. */
export const versionOf = { current: '2025-09-14', earlier: '2024-08-24' } as const satisfies Record<Layout, string>

export const otherLayout = (layout: Layout): Layout => (layout === 'current' ? 'earlier' : 'current')

/**
 * Read an `Api-Version` header. Absent or blank: null, so that the path or the account decides.
 * Refuses a version that does not exist, naming both that do.
 * Source: docs/rules/versions-and-transport.md #choosing-a-version.
 */
export const layoutFromHeader = (header: string | undefined): Result<Layout | null> => {
  const version = header?.trim() ?? ''
  if (version === '') return accepted(null)
  for (const layout of layouts) if (versionOf[layout] === version) return accepted(layout)
  return refused('api_version_not_supported', `Set Api-Version to ${versionOf.current} or ${versionOf.earlier}, or leave it out`)
}

/**
 * Choose the layout of a request: the header's; else that of a path that exists in one layout only; else the account's default.
 * `serving` are the layouts in which the path exists, at least one.
 * Source: docs/rules/versions-and-transport.md #choosing-a-version.
 */
export const chooseLayout = (header: Layout | null, serving: readonly Layout[], accountDefault: Layout): Layout => {
  if (header !== null) return header
  const [first, second] = serving
  return first !== undefined && second === undefined ? first : accountDefault
}
