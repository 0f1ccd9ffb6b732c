import { eventTypes } from './event-type.ts'
import type { Layout } from './layout.ts'
import { schemaWithoutNullTexts } from './null-text.ts'
import { type JsonSchema, schemaInLayout, schemaOf } from './schema-document.ts'
import { schemaName } from './schema-name.ts'

/** Puts a schema where the document keeps it, and gives what stands in its place. */
export type Naming = (schema: JsonSchema, name: string) => JsonSchema

/** Events that endpoints get, as the requests that bring them. */
export function* webhooksOf(layout: Layout, name: Naming): Generator<void, Readonly<Record<string, unknown>>> {
  const webhooks: Record<string, unknown> = {}
  for (const { type, occurs, data } of eventTypes) {
    const schema = schemaOf(data.shape)
    const own = schemaInLayout(layout === 'current' ? schema : schemaWithoutNullTexts(schema), data.renames ?? [], layout)
    const event: JsonSchema = {
      type: 'object',
      properties: {
        id: { type: 'string', examples: ['evt_0198c0ffee00112233445566'] },
        object: { const: 'event' },
        type: { const: type },
        live_mode: { type: 'boolean' },
        data: { ...own, component: data.name },
        time_created: { type: 'string', format: 'date-time' },
        account_id: { type: 'string', examples: ['acc_0198c0ffee00112233445566'] },
      },
      required: ['id', 'object', 'type', 'live_mode', 'data', 'time_created', 'account_id'],
    }
    const eventName = schemaName(type)
    const post = {
      operationId: `event_${type.replaceAll('.', '_')}`,
      summary: occurs,
      tags: ['Webhooks'],
      security: [],
      requestBody: { required: true, content: { 'application/json': { schema: name(event, `${eventName}Event`) } } },
      responses: { '2XX': { description: 'The event has arrived. Any other status is tried again.' } },
    }
    webhooks[type] = { post }
    yield
  }
  return webhooks
}
