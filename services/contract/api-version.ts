import { accepted, type Result, refused } from '../domain/refusal.ts'

/** The two published forms of the interface: the current release and the one before it. */
export type ApiVersion = 'current' | 'earlier'

export const apiVersions = ['current', 'earlier'] as const satisfies readonly ApiVersion[]

/** The value of `Api-Version` that stands for each layout. */
export const apiVersionDates = { current: '2025-09-14', earlier: '2024-08-24' } as const satisfies Record<
  ApiVersion,
  string
>

export const otherApiVersion = (apiVersion: ApiVersion): ApiVersion =>
  apiVersion === 'current' ? 'earlier' : 'current'

/**
 * Read an `Api-Version` header. Absent or blank: null, so that the path or the account decides.
 * Refuses a version that does not exist, naming both that do.
 * Source: docs/rules/versions-and-transport.md #choosing-a-version.
 */
export const readApiVersionHeader = (header: string | undefined): Result<ApiVersion | null> => {
  const version = header?.trim() ?? ''
  if (version === '') return accepted(null)
  for (const apiVersion of apiVersions) if (apiVersionDates[apiVersion] === version) return accepted(apiVersion)
  return refused(
    'api_version_not_supported',
    `Set Api-Version to ${apiVersionDates.current} or ${apiVersionDates.earlier}, or leave it out`,
  )
}

/**
 * Choose the layout of a request: the header's; else that of a path that exists in one layout only; else the account's default.
 * `serving` are the layouts in which the path exists, at least one.
 * Source: docs/rules/versions-and-transport.md #choosing-a-version.
 */
export const chooseApiVersion = (
  header: ApiVersion | null,
  availableVersions: readonly ApiVersion[],
  accountDefault: ApiVersion,
): ApiVersion => {
  if (header !== null) return header
  const [first, second] = availableVersions
  return first !== undefined && second === undefined ? first : accountDefault
}
