import { accepted, type Result, refused } from '../domain/refusal.ts'

/** Published versions of the API: the current release and the release before it. */
export type ApiVersion = 'current' | 'earlier'

export const apiVersions = ['current', 'earlier'] as const satisfies readonly ApiVersion[]

/** Value of the header `Api-Version` for each API version. */
export const apiVersionDates = { current: '2025-09-14', earlier: '2024-08-24' } as const satisfies Record<
  ApiVersion,
  string
>

export const otherApiVersion = (apiVersion: ApiVersion): ApiVersion =>
  apiVersion === 'current' ? 'earlier' : 'current'

/**
 * Read an `Api-Version` header. Returns null for an absent or blank header: then the path or the account decides.
 * Refuses an unknown version; the message names the known versions.
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

/** Return the API version of an answer before routing: the version of the header, or the current version. */
export const apiVersionOfHeader = (header: string | undefined): ApiVersion => {
  const read = readApiVersionHeader(header)
  return read.ok ? (read.value ?? 'current') : 'current'
}

/**
 * Choose the API version of a request. The header decides. Without a header, the path decides if only one version has
 * the path. Otherwise the default of the account applies. `availableVersions` are the versions that have the path, at
 * least one.
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
