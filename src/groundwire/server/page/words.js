// What the report's words are called on the page: the same as on the terminal (Status.words).

export const STATUS = {
  CONTRADICTED: { name: "Contradicted", mark: "✕", means: "the sources say otherwise" },
  NOT_IN_CONTEXT: { name: "Not in the sources", mark: "○", means: "no source says it" },
  UNCHECKED: { name: "Could not be checked", mark: "?", means: "no verdict, which is not the same as fine" },
  ENTAILED: { name: "Supported", mark: "✓", means: "the sources say it" },
};

const TYPES = {
  FabricatedFact: "Fabricated fact",
  NonexistentEntity: "Unknown entity",
  WrongAttribute: "Wrong attribute",
  ContradictsFact: "Contradicts a known fact",
  ContradictsPrior: "Contradicts the conversation",
  UnsupportedClaim: "Unsupported claim",
  TemporalError: "Wrong in time",
  LogicalInconsistency: "Contradicts itself",
};

const own = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);

/** A claim too vague to judge has a status of its own in JSON; people read one word for both. */
const key = (name) => (name === "UNVERIFIABLE" ? "UNCHECKED" : name);

export const status = (name) => own(STATUS, key(name)) || { name: String(name), mark: "?", means: "" };
/** A class name only if it is one of ours: a stored report may hold anything. */
export const tone = (name) => (own(STATUS, key(name)) ? key(name) : "UNCHECKED");
export const typeName = (name) => own(TYPES, name) || String(name).replaceAll("_", " ");
/** A plan or a question in a trace is not a claim that failed (`StepVerdict.words`). */
export const stepName = (step) => (step.reason === "asserts nothing" ? "No claim" : status(step.status).name);
