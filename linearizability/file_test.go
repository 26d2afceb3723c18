package linearizability

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const invoke1 = `{"event":1,"type":"invoke","process":1,"op":"produce","topic":"t","records":[{"id":1}]}` + "\n"
const poll1 = `{"event":1,"type":"invoke","process":1,"op":"poll","topic":"t","offset":0}` + "\n"

func TestABadHistoryIsRefusedByLineAndReason(t *testing.T) {
	cases := []struct{ file, says string }{
		{"hello", "line 1: not an event"},
		{`{"event":1`, "line 1: the JSON object ends in its middle"},
		{invoke1 + invoke1, "line 2: event 1 does not come after event 1"},
		{`{"event":0,"type":"note","op":"final"}`, "event 0 does not come after event 0"},
		{`{"event":1,"typo":"note"}`, `unknown field "typo"`},
		{`{"event":1,"type":"note","op":"final"}{}`, "more than one JSON object"},
		{`{"event":"x"}`, `"event" can not hold a string`},
		{`{"event":1,"type":"begin"}`, `type "begin" is not known`},
		{`{"event":1,"type":"note","op":"thunder"}`, `note "thunder" is not known`},
		{`{"event":1,"type":"invoke","process":1,"op":"read","topic":"t"}`, `op "read" is not known`},
		{`{"event":1,"type":"invoke","op":"poll","topic":"t"}`, "needs a process"},
		{`{"event":1,"type":"invoke","process":1,"op":"poll"}`, "needs a topic"},
		{`{"event":1,"type":"invoke","process":1,"op":"poll","topic":"t","partition":-1}`, "partition -1 is negative"},
		{`{"event":1,"type":"invoke","process":1,"op":"poll","topic":"t","offset":-2}`, "offset -2"},
		{`{"event":1,"type":"invoke","process":1,"op":"poll","topic":"t","offset":9223372036854775807}`, "offset 9223372036854775807"},
		{`{"event":1,"type":"invoke","process":1,"op":"poll","topic":"t","records":[{"id":1}]}`, "belong to a produce"},
		{`{"event":1,"type":"invoke","process":1,"op":"poll","topic":"t","end":4}`, "they belong to the line that ends"},
		{`{"event":1,"type":"invoke","process":1,"op":"poll","topic":"t","of":4}`, "ends nothing"},
		{`{"event":1,"type":"invoke","process":1,"op":"produce","topic":"t"}`, "needs its records"},
		{`{"event":1,"type":"invoke","process":1,"op":"produce","topic":"t","records":[{"id":0}]}`, "no id above 0"},
		{`{"event":1,"type":"invoke","process":1,"op":"produce","topic":"t","records":[{"id":1,"offset":1}]}`, "before it was appended"},
		{`{"event":1,"type":"invoke","process":1,"op":"produce","topic":"t","offset":1,"records":[{"id":1}]}`, "belongs to the ok"},
		{`{"event":1,"type":"invoke","process":1,"op":"produce","topic":"t","acks":"2","records":[{"id":1}]}`, `acks "2" is not known`},
		{invoke1 + `{"event":2,"type":"ok","of":3,"offset":0}`, "line 2: it ends event 3"},
		{invoke1 + `{"event":2,"type":"ok","of":1}`, "needs its offset"},
		{invoke1 + `{"event":2,"type":"ok","of":1,"offset":0,"op":"poll"}`, "it is a poll, and event 1 is a produce"},
		{invoke1 + `{"event":2,"type":"ok","of":1,"offset":0,"process":7}`, "of process 7"},
		{invoke1 + `{"event":2,"type":"ok","of":1,"offset":0,"topic":"u"}`, `of topic "u"`},
		{invoke1 + `{"event":2,"type":"ok","of":1,"offset":0,"attempts":-2}`, "attempts -2"},
		{invoke1 + `{"event":2,"type":"fail","of":1}` + "\n" + `{"event":3,"type":"ok","of":1,"offset":0}`, "line 3: it ends event 1"},
		{poll1 + `{"event":2,"type":"ok","of":1,"records":[{"id":1}]}`, "record 0 of the poll needs its offset"},
		{poll1 + `{"event":2,"type":"ok","of":1,"end":-3}`, "end and start are offsets"},
		{`{"event":1,"type":"invoke","process":1,"op":"latest","topic":"t"}` + "\n" + `{"event":2,"type":"ok","of":1}`, "needs its end"},
		{strings.Repeat(" ", LineMax+2), "longer than 16777216 bytes"},
	}
	for _, c := range cases {
		_, err := Read(strings.NewReader(c.file))
		require.ErrorContains(t, err, c.says, "%.200s", c.file)
	}
}

func TestTheExampleOfTheFormatHolds(t *testing.T) {
	h, err := Read(strings.NewReader(`
{"event":1,"type":"invoke","process":1,"op":"produce","topic":"orders","partition":0,"records":[{"id":1},{"id":2}]}
{"event":2,"type":"invoke","process":2,"op":"poll","topic":"orders","partition":0,"offset":0}

{"event":3,"type":"ok","of":1,"offset":0}
{"event":4,"type":"ok","of":2,"records":[{"id":1,"offset":0},{"id":2,"offset":1}],"end":2}`))
	require.NoError(t, err)
	v := Check(h, Options{FetchEnds: true})
	require.Equal(t, Holds, v.Judgement(), v.String())
}

// Whatever is read can be judged: no history file makes a check panic or hang.
func FuzzRead(f *testing.F) {
	f.Add([]byte(invoke1 + `{"event":2,"type":"ok","of":1,"offset":0}`))
	f.Add([]byte(poll1 + `{"event":2,"type":"ok","of":1,"end":7,"records":[{"id":1,"offset":4},{"id":0,"offset":2}]}`))
	f.Add([]byte(`{"event":5,"type":"invoke","process":1,"op":"delete","topic":"t","offset":3}` + "\n" + `{"event":6,"type":"note","op":"power-loss"}`))
	f.Add([]byte(`{"event":1,"type":"invoke","process":1,"op":"latest","topic":"t"}` + "\n" + `{"event":2,"type":"ok","of":1,"end":1152921504606846976}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		h, err := Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		relaxed := func(string) bool { return true }
		v := Check(h, Options{FetchEnds: true, Relaxed: relaxed})
		require.NotEmpty(t, v.String())
		w := CheckWindows(h, Options{FetchEnds: true, Relaxed: relaxed}, drawLimit)
		require.NotEmpty(t, w.String())
		var again bytes.Buffer
		require.NoError(t, h.Write(&again))
		_, err = Read(&again)
		require.NoError(t, err)
	})
}

func TestSumTellsPartsApart(t *testing.T) {
	a, b := []byte("ab"), []byte("c")
	require.NotEqual(t, Sum(a, b), Sum([]byte("a"), []byte("bc")))
	require.NotEqual(t, Sum(a), Sum(a, nil))
	require.Equal(t, Sum(a, b), Sum([]byte("ab"), []byte("c")))
}
