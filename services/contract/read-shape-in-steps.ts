import { z } from 'zod'
import { accepted, type Result } from '../domain/refusal.ts'
import { refusalOf, type ShapePart } from './read-shape.ts'

const { finalizeIssue } = z.core.util

type Schema = z.core.$ZodType
type Context = z.core.ParseContextInternal & { readonly read: ElementResults }
type Payload = z.core.ParsePayload

/** Results of elements that were read before the whole: by schema and element. */
type ElementResults = Map<Schema, Map<unknown, Payload>>

/** Elements of a list from which on it is read element by element. */
const longListLength = 32
/** Values that are read between two points where the work can be interrupted. */
const valuesPerPause = 64

const patchedSchemas = new WeakSet<Schema>()

/** Let a schema take the result of an element that was read before. */
const useReadElements = (element: Schema): void => {
  if (patchedSchemas.has(element)) return
  patchedSchemas.add(element)
  const { run } = element._zod
  element._zod.run = (payload, context) =>
    (context as Context).read?.get(element)?.get(payload.value) ?? run(payload, context)
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** Keeps issues of elements as far as they can decide: a list of wrong elements then has no more issues than a few elements. */
const createIssueFilter = () => {
  const isSeen = { any: false, unknown: false, fatal: false }
  return (payload: Payload): void => {
    const { issues } = payload
    if (issues.length === 0) return
    const isUnknown = issues.some(({ code }) => code === 'unrecognized_keys')
    const isFatal = issues.some(issue => issue.continue !== true)
    const isNew = !isSeen.any || (isUnknown && !isSeen.unknown) || (isFatal && !isSeen.fatal)
    if (!isNew) payload.issues = []
    isSeen.any = true
    isSeen.unknown ||= isUnknown
    isSeen.fatal ||= isFatal
  }
}

const runSchema = (schema: Schema, value: unknown, context: Context): Payload => {
  const result = schema._zod.run({ value, issues: [] }, context)
  if (result instanceof Promise) throw new TypeError('a shape of a request must not be asynchronous')
  return result
}

type ShapeReader = { readonly context: Context; values: number }

function* readElements(element: Schema, list: readonly unknown[], reader: ShapeReader): Generator<void, void> {
  const { context } = reader
  const isLong = list.length > longListLength
  const read = context.read.get(element) ?? new Map<unknown, Payload>()
  if (isLong) {
    useReadElements(element)
    context.read.set(element, read)
  }
  const keepIssues = createIssueFilter()
  for (const value of list) {
    reader.values += 1
    if (reader.values % valuesPerPause === 0) yield
    yield* readLists(element, value, reader)
    if (!isLong || !isObject(value)) continue
    const result = runSchema(element, value, context)
    keepIssues(result)
    read.set(value, result)
  }
}

/** Read the elements of all long lists of a value, the innermost first. Lists within alternatives are left for later. */
function* readLists(schema: Schema, value: unknown, reader: ShapeReader): Generator<void, void> {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (!isObject(value)) return
  if (def.type === 'array') {
    if (Array.isArray(value)) yield* readElements(def.element, value, reader)
  } else if (def.type === 'object') {
    for (const [name, member] of Object.entries(def.shape))
      if (isObject(value[name])) yield* readLists(member, value[name], reader)
  } else if (def.type === 'pipe') yield* readLists(def.in, value, reader)
  else if (def.type === 'optional' || def.type === 'nullable' || def.type === 'default')
    yield* readLists(def.innerType, value, reader)
}

/**
 * Read a value by a shape as `readShape` does, in steps between which others can have a turn: the elements of long lists one after the other,
 * then the whole, which takes their results. Refuses what `readShape` refuses.
 */
export function* readShapeInSteps<Shape extends z.ZodType>(
  shape: Shape,
  value: unknown,
  part: ShapePart,
): Generator<void, Result<z.output<Shape>>> {
  const context: Context = { async: false, reportInput: true, read: new Map() }
  yield* readLists(shape, value, { context, values: 0 })
  yield
  const { value: result, issues } = runSchema(shape, value, context)
  if (issues.length > 0)
    return {
      ok: false,
      refusal: refusalOf(
        issues.map(issue => finalizeIssue(issue, context, z.core.config())),
        part,
      ),
    }
  // The shape has read the value, so it has the shape's output.
  return accepted(result as z.output<Shape>)
}
