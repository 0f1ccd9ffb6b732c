import type { Hono } from 'hono'
import { type ApiVersion, apiVersionDates, apiVersions } from '../../../services/contract/api-version.ts'
import { documentedCodes } from '../../../services/contract/openapi/documented-codes.ts'
import type { Operation, Route } from '../../../services/contract/operation.ts'
import type { RefusalCode } from '../../../services/domain/refusal.ts'
import { operations } from '../../../services/operations.ts'
import { undocumentedCodes } from './undocumented-codes.ts'

/** Error answer of the API to a request. */
type ErrorAnswer = {
  readonly method: string
  readonly path: string
  /** Value of `Api-Version` in the answer. */
  readonly apiVersion: string | null
  readonly code: RefusalCode
}

type DocumentedRoute = {
  readonly operation: Operation
  readonly route: Route
  readonly matches: (path: string) => boolean
}

const routesOf = (apiVersion: ApiVersion, method: string): readonly DocumentedRoute[] =>
  operations.flatMap(operation =>
    operation.routes[apiVersion]
      .filter(route => route.method === method)
      .map(route => {
        const pattern = new RegExp(`^${route.path.replace(/\{\w+\}/g, '[^/]+')}/?$`)
        return { operation, route, matches: (path: string) => pattern.test(path) }
      }),
  )

const parametersIn = ({ route }: DocumentedRoute): number => route.path.split('{').length

/** Return the operation of a request; a fixed segment matches before a parameter. Undefined for an unknown path. */
const findRoute = ({ method, path, apiVersion }: ErrorAnswer): DocumentedRoute | undefined => {
  const version = apiVersions.find(one => apiVersionDates[one] === apiVersion)
  if (version === undefined) return undefined
  return routesOf(version, method === 'HEAD' ? 'GET' : method)
    .filter(({ matches }) => matches(path))
    .toSorted((a, b) => parametersIn(a) - parametersIn(b))[0]
}

/**
 * Return the operation and the code of an error answer, if the OpenAPI document of its API version does not list the
 * code. Null if it lists the code, or if the path has no operation.
 */
export const undocumentedCode = (answer: ErrorAnswer): string | null => {
  const found = findRoute(answer)
  if (found === undefined || documentedCodes(found.operation, found.route).has(answer.code)) return null
  return `${found.operation.id} (${found.route.method} ${found.route.path}): ${answer.code}`
}

/** Return the code of an error object of an operation. Null for other JSON, and for errors before an operation is found. */
const errorCodeOf = (text: string): RefusalCode | null => {
  const error = Object(JSON.parse(text)) as Readonly<Record<'object' | 'code' | 'context', unknown>>
  const isOfOperation = error.object === 'error' && error.context !== 'api.path_find'
  return isOfOperation && typeof error.code === 'string' ? (error.code as RefusalCode) : null
}

/** Check the code of an error answer with the document of its operation. Reads the answer. Other answers have no effect. */
export const checkAnswer = async (method: string, url: string, answer: Response): Promise<void> => {
  const { headers, status } = answer
  if (status < 400 || headers.get('content-type')?.startsWith('application/json') !== true) return
  // A connection that ended early has no code.
  const text = await answer.text().catch(() => '')
  const code = text === '' ? null : errorCodeOf(text)
  const apiVersion = headers.get('api-version')
  const fault = code === null ? null : undocumentedCode({ method, path: new URL(url).pathname, apiVersion, code })
  if (fault !== null) undocumentedCodes.add(fault)
}

/** Check each answer of an app that a test calls without a port. */
export const checkAnswersOf = (app: Hono): Hono => {
  const { fetch } = app
  app.fetch = async (request, ...others) => {
    const response = await fetch(request, ...others)
    if (response.status >= 400) await checkAnswer(request.method, request.url, response.clone())
    return response
  }
  return app
}
