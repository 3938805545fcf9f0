// What the report's words are called on the page: the same as on the terminal (Status.words).

export const STATUS = {
  CONTRADICTED: { name: "Contradicted", mark: "✕", means: "the sources say otherwise" },
  NOT_IN_CONTEXT: { name: "Not in the sources", mark: "○", means: "no source says it" },
  UNVERIFIABLE: { name: "Too vague to judge", mark: "~", means: "it says too little to be judged" },
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

export const status = (name) => own(STATUS, name) || { name: String(name), mark: "?", means: "" };
/** A class name only if it is one of ours: a stored report may hold anything. */
export const tone = (name) => (own(STATUS, name) ? name : "UNCHECKED");
export const typeName = (name) => own(TYPES, name) || String(name).replaceAll("_", " ");
