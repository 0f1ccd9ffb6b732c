import { channel } from 'node:diagnostics_channel'
import type { z } from 'zod'
import { type DryRunWire, dryRunShape } from './dry-run.ts'
import type { JsonNumber } from './json/exact-number.ts'
import type { AnswerOf, BodyShape, Method, Operation, QueryShape } from './operation.ts'

/** Calls of operations by clients in this repository, in the current API version. */

type PathNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never

type ParameterValue = string | number | boolean | undefined

type PathOf<O extends Operation> = O extends Operation<infer _Q, infer _B, infer _A, infer Path> ? Path : never
type QueryOf<O extends Operation> = O extends Operation<infer Query, infer _B, infer _A> ? z.input<Query> : never

/** Parameters of an operation in its path and query, by name. The API reads their values. */
export type ParametersOf<O extends Operation> = { readonly [Name in PathNames<PathOf<O>>]: string | undefined } & {
  readonly [Name in Exclude<keyof QueryOf<O>, 'dry_run'>]?: ParameterValue
}

/** Operation of one kind of object, whose path ends with `End`. */
export type OperationOf<Wire, End extends string = ''> = Operation<
  QueryShape,
  BodyShape,
  z.ZodType<Wire, Wire>,
  `/${string}${End}`
>

declare const fromForm: unique symbol

/** Object that the inputs of a form made. Only the API checks its members. */
export type FormBody = { readonly [fromForm]: true }

/** Body as a client sends it. The API checks each text, so that a client can send the text of a form. */
type Sent<T> = T extends JsonNumber | null | undefined | boolean
  ? T
  : T extends string
    ? string
    : T extends object
      ? { readonly [Name in keyof T]: Sent<T[Name]> } | FormBody
      : unknown

export type SentBodyOf<O extends Operation> =
  O extends Operation<infer _Q, infer Body, infer _A>
    ? object & (Body extends z.ZodType ? Sent<z.input<Body>> : unknown)
    : never

/** Request of a call. `path` contains the query. */
export type CallRequest = {
  readonly method: Method
  readonly path: string
  readonly body?: object | undefined
}

/** Answer whose numbers were read as doubles. */
export type InDoubles<T> = T extends JsonNumber
  ? number
  : T extends object
    ? { [Name in keyof T]: InDoubles<T[Name]> }
    : T

/** Create the request of a call. Throws if the current API version does not have the operation. */
export const callRequest = (
  { id, routes }: Operation,
  parameters: Readonly<Record<string, ParameterValue>>,
  body?: object,
): CallRequest => {
  const [route] = routes.current
  if (route === undefined) throw new Error(`The current API version has no operation ${id}.`)
  const query = new Map(Object.entries(parameters).filter(([, value]) => value !== undefined))
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = query.get(name)
    if (value === undefined) throw new Error(`A call of ${id} has no ${name}.`)
    query.delete(name)
    return encodeURIComponent(value)
  })
  const search = new URLSearchParams(
    [...query].map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
  return { method: route.method, path: search === '' ? path : `${path}?${search}`, body }
}

/** Successful answer of a call, and the shape that it must fit. */
export type ReceivedAnswer = { readonly id: string; readonly shape: z.ZodType; readonly answer: unknown }

/** Name of the channel that has each successful answer of a call. Tests check the answers with their shapes. */
export const answerChannel = 'wattledger.call.answer'
const answers = channel(answerChannel)

const received = (id: string, shape: z.ZodType, answer: unknown): unknown => {
  if (answers.hasSubscribers) answers.publish({ id, shape, answer } satisfies ReceivedAnswer)
  return answer
}

/** Return the successful answer of an operation with its type. */
export const receivedAnswer = <O extends Operation>({ id, answer }: O, value: unknown): AnswerOf<O> =>
  received(id, answer.shape, value) as AnswerOf<O>

/** Return the successful answer of a dry run with its type. */
export const receivedDryRun = ({ id }: Operation, value: unknown): DryRunWire =>
  received(id, dryRunShape, value) as DryRunWire
