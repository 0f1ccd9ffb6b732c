import { z } from 'zod'
import { orNull } from '../answer-field.ts'
import { displayName, metadata, referenceId } from '../field.ts'
import { optionalMember } from '../object-member.ts'

/** Texts of the own reference in forms. */
export const referenceForm = { label: 'Reference', hint: 'Your own name. It is unique.' }

/** The caller's own reference of an object. */
export const referenceMember = (texts: { readonly creation?: string; readonly answer?: string }) =>
  optionalMember(
    'reference_id',
    null,
    { body: referenceId, answer: orNull(z.string()) },
    { ...texts, form: referenceForm },
  )

const describeName = 'Name for people. It identifies nothing.'

/** Name of an object for people. */
export const displayNameMember = (texts: { readonly creation?: string } = {}) =>
  optionalMember(
    'display_name',
    null,
    { body: displayName, answer: orNull(z.string()) },
    { ...texts, answer: describeName, form: { label: 'Name', hint: 'For people. It identifies nothing.' } },
  )

type Metadata = Readonly<Record<string, string>>

const noMetadata: Metadata = {}

/** The caller's own texts of an object. */
export const metadataMember = (texts: { readonly creation?: string; readonly patch?: string } = {}) =>
  optionalMember(
    'metadata',
    noMetadata,
    { body: metadata, answer: z.record(z.string(), z.string()), write: (value: Metadata) => ({ ...value }) },
    {
      ...texts,
      form: {
        label: 'Metadata',
        hint: 'JSON object with texts, such as {"site": "north"}. Leave empty for none.',
        type: 'json',
      },
    },
  )
