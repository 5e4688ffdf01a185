//go:build db2

package db2

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
)

// fakeServer speaks as much of Db2's protocol, DRDA, as IBM's client needs to log in and to run statements that
// return nothing. It accepts any database and, by default, any user.
type fakeServer struct {
	listener net.Listener

	refuseLogin bool
	// delayLogin, if not nil, is waited for before the login is answered.
	delayLogin chan struct{}
	// loseAt is a statement at whose execution the connection is lost, so that its answer is, too.
	loseAt     string
	failCommit bool
	// staysOn means that the server does not hang up when the client wants to.
	staysOn bool

	mu     sync.Mutex
	events []string
}

// Code points of DRDA's objects: "DRDA, Version 5, Volume 3: Distributed Data Management Architecture", The Open Group.
const (
	codeEXCSAT    = 0x1041
	codeEXCSATRD  = 0x1443
	codeACCSEC    = 0x106D
	codeACCSECRD  = 0x14AC
	codeSECCHK    = 0x106E
	codeSECCHKRM  = 0x1219
	codeACCRDB    = 0x2001
	codeACCRDBRM  = 0x2201
	codeEXCSQLSET = 0x2014
	codePRPSQLSTT = 0x200D
	codeEXCSQLSTT = 0x200B
	codeRDBCMM    = 0x200E
	codeRDBRLLBCK = 0x200F
	codeENDUOWRM  = 0x220C
	codeGoodbye   = 0xC004 // IBM's own: the client waits until the server hangs up
	codeSQLSTT    = 0x2414
	codeSQLDTA    = 0x2412
	codeSQLCARD   = 0x2408

	codeEXTNAM    = 0x115E
	codeSRVCLSNM  = 0x1147
	codeSRVNAM    = 0x116D
	codeSRVRLSLV  = 0x115A
	codeMGRLVLLS  = 0x1404
	codeSECMEC    = 0x11A2
	codeSECCHKCD  = 0x11A4
	codePASSWORD  = 0x11A1
	codeSVRCOD    = 0x1149
	codePRDID     = 0x112E
	codeTYPDEFNAM = 0x002F
	codeTYPDEFOVR = 0x0035
	codeUOWDSP    = 0x2115

	flagChained         = 0x40
	flagSameCorrelation = 0x10
	typeReply           = 0x02
)

// startFakeServer starts a server that ends with the test, and hangs up then: a client that still waits for it
// would keep the process from ending under the race detector, which runs IBM's exit handlers.
func startFakeServer(t *testing.T, server *fakeServer) {
	t.Helper()
	server.listener = listen(t)
	go func() {
		for {
			conn, err := server.listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go server.serve(conn)
		}
	}()
}

func (s *fakeServer) serve(conn net.Conn) {
	defer conn.Close()
	s.note("connect")
	session := fakeSession{fakeServer: s, conn: conn}
	for session.answerNext() == nil {
	}
	s.note("disconnect")
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func (s *fakeServer) note(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event)
}

func (s *fakeServer) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// count returns how often an event has happened.
func (s *fakeServer) count(event string) int {
	return len(slices.DeleteFunc(s.seen(), func(happened string) bool { return happened != event }))
}

// fakeSession is one connection.
type fakeSession struct {
	*fakeServer
	conn net.Conn
	// statement is the text that was prepared last.
	statement string
	command   int
}

// message is one DSS, the unit of the protocol, with the object in it.
type message struct {
	flags       byte
	correlation uint16
	code        int
	value       []byte
}

func (s *fakeSession) read() (message, error) {
	header := make([]byte, 10)
	if _, err := io.ReadFull(s.conn, header); err != nil {
		return message{}, err
	}
	m := message{
		flags:       header[3],
		correlation: binary.BigEndian.Uint16(header[4:]),
		code:        int(binary.BigEndian.Uint16(header[8:])),
		value:       make([]byte, binary.BigEndian.Uint16(header)-10),
	}
	_, err := io.ReadFull(s.conn, m.value)
	return m, err
}

// reply sends objects as the answer to a message, which may be one of a chain.
func (s *fakeSession) reply(to message, objects ...[]byte) error {
	for i, object := range objects {
		flags := byte(typeReply)
		switch {
		case i < len(objects)-1:
			flags |= flagChained | flagSameCorrelation
		case to.flags&flagChained != 0:
			flags |= flagChained
		}
		dss := binary.BigEndian.AppendUint16(nil, uint16(len(object)+6))
		dss = binary.BigEndian.AppendUint16(append(dss, 0xD0, flags), to.correlation)
		if _, err := s.conn.Write(append(dss, object...)); err != nil {
			return err
		}
	}
	return nil
}

func (s *fakeSession) answerNext() error {
	m, err := s.read()
	if err != nil {
		return err
	}
	switch m.code {
	case codeEXCSAT:
		// Levels of the managers AGENT, SQLAM, CMNTCPIP, RDB and SECMGR.
		levels := words(0x1403, 7, 0x2407, 7, 0x1474, 5, 0x240F, 7, 0x1440, 7)
		return s.reply(m, object(codeEXCSATRD, object(codeEXTNAM, ebcdic("FAKE")), object(codeMGRLVLLS, levels),
			object(codeSRVCLSNM, ebcdic("QDB2/LINUXX8664")), object(codeSRVNAM, ebcdic("FAKE")), object(codeSRVRLSLV, ebcdic("SQL11055"))))
	case codeACCSEC:
		const clearText = 3
		return s.reply(m, object(codeACCSECRD, object(codeSECMEC, words(clearText))))
	case codeSECCHK:
		return s.checkLogin(m)
	case codeACCRDB:
		if s.refuseLogin {
			return nil // chained to what was refused
		}
		return s.reply(m, object(codeACCRDBRM, object(codeSVRCOD, words(0)), object(codePRDID, ebcdic("SQL11055")),
			object(codeTYPDEFNAM, ebcdic("QTDSQLX86")), object(codeTYPDEFOVR,
				object(0x119C, words(1208)), object(0x119D, words(1200)), object(0x119E, words(1208)))))
	case codeEXCSQLSET, codePRPSQLSTT:
		s.command = m.code
	case codeSQLSTT:
		return s.takeStatement(m)
	case codeEXCSQLSTT:
		return s.execute(m)
	case codeSQLDTA:
		return s.reply(m, object(codeSQLCARD, success()))
	case codeRDBCMM:
		s.note("commit")
		if s.failCommit {
			return s.reply(m, object(codeSQLCARD, sqlca(-964, "57011")))
		}
		return s.reply(m, endOfTransaction(), object(codeSQLCARD, success()))
	case codeRDBRLLBCK:
		s.note("rollback")
		return s.reply(m, endOfTransaction(), object(codeSQLCARD, success()))
	case codeGoodbye:
		if !s.staysOn {
			return io.EOF
		}
	}
	return nil
}

func (s *fakeSession) checkLogin(m message) error {
	for rest := m.value; len(rest) >= 4; rest = rest[binary.BigEndian.Uint16(rest):] {
		if binary.BigEndian.Uint16(rest[2:]) == codePASSWORD {
			s.note("password " + string(rest[4:binary.BigEndian.Uint16(rest)]))
		}
	}
	if s.delayLogin != nil {
		<-s.delayLogin
	}
	if s.refuseLogin {
		const severe, wrongPassword = 8, 0x0F
		m.flags &^= flagChained
		return s.reply(m, object(codeSECCHKRM, object(codeSVRCOD, words(severe)), object(codeSECCHKCD, []byte{wrongPassword})))
	}
	return s.reply(m, object(codeSECCHKRM, object(codeSVRCOD, words(0)), object(codeSECCHKCD, []byte{0})))
}

// takeStatement gets the text of the command before it, of which there may be several.
func (s *fakeSession) takeStatement(m message) error {
	if s.command == codePRPSQLSTT {
		s.statement = string(m.value[5 : len(m.value)-1]) // NULL mixed, length, text, NULL single
	}
	if m.flags&flagSameCorrelation != 0 {
		return nil
	}
	return s.reply(m, object(codeSQLCARD, success()))
}

func (s *fakeSession) execute(m message) error {
	if m.flags&flagSameCorrelation != 0 {
		return nil // the client's own statement at login: its data follow
	}
	s.note("execute " + s.statement)
	if s.loseAt != "" && s.loseAt == s.statement {
		return io.EOF
	}
	return s.reply(m, object(codeSQLCARD, success()))
}

func object(code uint16, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	return slices.Concat(words(uint16(len(content)+4), code), content)
}

func words(values ...uint16) []byte {
	var bytes []byte
	for _, value := range values {
		bytes = binary.BigEndian.AppendUint16(bytes, value)
	}
	return bytes
}

func endOfTransaction() []byte {
	const committed = 1
	return object(codeENDUOWRM, object(codeSVRCOD, words(4)), object(codeUOWDSP, []byte{committed}))
}

// success is an SQLCA that is NULL.
func success() []byte { return []byte{0xFF} }

func sqlca(code int32, state string) []byte {
	bytes := binary.LittleEndian.AppendUint32([]byte{0}, uint32(code))
	bytes = append(bytes, state...)
	bytes = append(bytes, "FAKE    "...)
	return append(bytes, 0xFF, 0xFF) // neither tokens nor diagnostics
}

// ebcdic encodes what these tests have: capitals, digits, the letters a to i and some others.
func ebcdic(text string) []byte {
	encoded := make([]byte, len(text))
	for i, char := range []byte(text) {
		switch {
		case '0' <= char && char <= '9':
			encoded[i] = 0xF0 + char - '0'
		case 'A' <= char && char <= 'I':
			encoded[i] = 0xC1 + char - 'A'
		case 'J' <= char && char <= 'R':
			encoded[i] = 0xD1 + char - 'J'
		case 'S' <= char && char <= 'Z':
			encoded[i] = 0xE2 + char - 'S'
		case 'a' <= char && char <= 'i':
			encoded[i] = 0x81 + char - 'a'
		default:
			encoded[i] = map[byte]byte{'/': 0x61, '{': 0xC0, '}': 0xD0, '\'': 0x7D, '"': 0x7F, '=': 0x7E}[char]
		}
	}
	return encoded
}
